// How a switch chooses among equal-cost links.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "netloom/packet/balance/murmur.hpp"
#include "netloom/packet/host/ready_flows.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

using Ways = std::span<const std::int32_t>;

inline std::uint32_t hash_of(const Network& net, std::uint32_t vertex, const Packet& packet) {
  const std::uint32_t seed = net.config.switches.seeds_equal ? 0 : vertex;
  return five_tuple_hash(packet.source, packet.target, packet.entropy, seed);
}

/// A hash of the five-tuple picks the link; a sender that changes its source port sprays.
class Ecmp {
 public:
  static constexpr std::string_view kName = "ecmp";
  static constexpr bool kFixed = true;  ///< A packet's way does not depend on when it comes.

  explicit Ecmp(Network& /*network*/) {}

  static std::uint32_t choose(Network& net, std::uint32_t vertex, const Packet& packet, Ways ways) {
    const std::size_t pick = hash_of(net, vertex, packet) % ways.size();
    return static_cast<std::uint32_t>(ways[pick]);
  }

  template <class Archive>
  void visit(Archive& /*archive*/) {}
};

/// By how much waits, in four steps: the thresholds of Cumulus Linux (adaptive_routing.conf: 100,
/// 1,000 and 10,000 cells) with Spectrum-4's cells of 192 bytes (SONiC; recalled). How others grade
/// is not published.
struct BufferGrade {
  static constexpr std::string_view kName = "adaptive";

  static Time of(const Network& /*network*/, const Port& port) {
    constexpr std::array<std::uint32_t, 3> kThresholds = {19'200, 192'000, 1'920'000};
    return std::ranges::upper_bound(kThresholds, port.waiting_bytes) - kThresholds.begin();
  }
};

/// By when all that waits will have left, in times of a full packet.
struct DrainGrade {
  static constexpr std::string_view kName = "cells";

  static Time of(const Network& network, const Port& port) {
    const HostSettings& h = network.config.hosts;
    const Time busy = port.busy_until > network.now ? port.busy_until - network.now : 0;
    const Time full = port.time_of(h.payload_bytes + h.header_bytes + h.gap_bytes);
    const Time left = busy + port.time_of(port.waiting_bytes);
    return left < full ? 0 : left / full;  // mostly: a division costs more than all the rest
  }
};

/// The link of the least grade, packet by packet; among equals in turn for each destination's leaf,
/// from a turn that is drawn.
///
/// Turns are assumed. A remark in the source of Cumulus Linux's pages, which they do not show, has
/// draws; these would leave links between switches uneven by the root of their packets.
template <class Grade>
class LeastGrade {
 public:
  static constexpr std::string_view kName = Grade::kName;
  static constexpr bool kFixed = false;  ///< A packet's way does not depend on when it comes.

  explicit LeastGrade(Network& network)
      : num_goals_(network.config.topology.num_goals),
        turn_(network.config.topology.num_vertices * std::size_t{num_goals_}) {
    for (std::uint16_t& turn : turn_) {
      turn = static_cast<std::uint16_t>(network.randoms.front()());
    }
  }

  /// Where the next choice begins; it is taken if little waits there.
  [[nodiscard]] std::uint32_t first_looked_at(const Network& net,
                                              std::uint32_t vertex,
                                              const Packet& packet,
                                              Ways ways) const {
    return static_cast<std::uint32_t>(ways[turn_[place_of(net, vertex, packet)] % ways.size()]);
  }

  std::uint32_t choose(Network& net, std::uint32_t vertex, const Packet& packet, Ways ways) {
    std::uint16_t& turn = turn_[place_of(net, vertex, packet)];
    const std::size_t begin = turn % ways.size();
    Time best = kNever;
    std::size_t chosen = begin;
    for (std::size_t i = 0; i < ways.size() && best != 0; ++i) {
      const std::size_t at = begin + i < ways.size() ? begin + i : begin + i - ways.size();
      const Port& port = net.port(static_cast<std::uint32_t>(ways[at]));
      const Time stuck = (port.paused & ~1U) != 0 ? kNever / 4 : 0;
      const Time grade = Grade::of(net, port) + stuck;
      if (grade < best) {
        best = grade;
        chosen = at;
      }
    }
    turn = static_cast<std::uint16_t>(chosen + 1);
    return static_cast<std::uint32_t>(ways[chosen]);
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(turn_);
  }

 private:
  [[nodiscard]] std::size_t place_of(const Network& net,
                                     std::uint32_t vertex,
                                     const Packet& packet) const {
    const auto goal = static_cast<std::uint32_t>(net.config.topology.goal[packet.target]);
    return vertex * std::size_t{num_goals_} + goal;
  }

  std::uint32_t num_goals_;
  std::vector<std::uint16_t> turn_;  ///< Of each vertex and goal: where to look first.
};

using Adaptive = LeastGrade<BufferGrade>;
using Cells = LeastGrade<DrainGrade>;

/// As ECMP, but a flow that was silent for `flowlet_gap_ps` may take another link, drawn again.
///
/// A table serves all switches. Flows that share an entry share its draw, and its silence is that
/// of all of them, as in hardware (LetFlow, NSDI 2017; recalled): none changes links in between.
class Flowlet {
 public:
  static constexpr std::string_view kName = "flowlet";
  static constexpr bool kFixed = false;  ///< A packet's way does not depend on when it comes.

  explicit Flowlet(Network& network)
      : entries_(size_for(network.config.work.num_transfers())) {}

  std::uint32_t choose(Network& net, std::uint32_t vertex, const Packet& packet, Ways ways) {
    const std::uint32_t key = hash_of(net, vertex, packet) ^ (vertex * 0x9E3779B1U);
    Entry& entry = entries_[key & (entries_.size() - 1)];
    if (entry.last == kUnused || net.now - entry.last > net.config.switches.flowlet_gap_ps) {
      entry.draw = net.randoms.front()();
    }
    entry.last = net.now;
    return static_cast<std::uint32_t>(ways[entry.draw % ways.size()]);
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(entries_);
  }

 private:
  static constexpr Time kUnused = -1;
  static constexpr std::size_t kLeastEntries = std::size_t{1} << 16U;
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20U;  ///< 16 MiB

  struct Entry {
    Time last = kUnused;
    std::uint64_t draw = 0;
  };

  /// A power of two, so that few of the flows and their answers share an entry at some switch.
  static std::size_t size_for(std::size_t num_flows) {
    return std::bit_ceil(std::clamp(16 * num_flows, kLeastEntries, kMostEntries));
  }

  std::vector<Entry> entries_;
};

/// A digit of a number: of the one that the destination's port has (d-mod-k), or of the packet's
/// entropy, which then is a source route. The topology says what divides it at each set of links.
template <bool kByTarget>
class Digits {
 public:
  static constexpr std::string_view kName = kByTarget ? "d-mod-k" : "source";
  static constexpr bool kFixed = true;  ///< A packet's way does not depend on when it comes.

  explicit Digits(Network& network) {
    const Topology& t = network.config.topology;
    if (t.digit.size() != t.source.size() || t.number.size() < t.num_endpoints) {
      throw std::invalid_argument("static and source routes need the topology's digits");
    }
    num_ports_ = static_cast<std::uint32_t>(t.number.size() / t.num_endpoints);
  }

  std::uint32_t choose(Network& net, std::uint32_t /*vertex*/, const Packet& packet, Ways ways) {
    const Topology& t = net.config.topology;
    const std::uint32_t number = kByTarget ? t.number[address_of(net, packet)] : packet.entropy;
    return static_cast<std::uint32_t>(
        ways[number / t.digit[static_cast<std::size_t>(ways[0])] % ways.size()]);
  }

  template <class Archive>
  void visit(Archive& /*archive*/) {}

 private:
  /// The port that a packet goes to, counted over all endpoints.
  [[nodiscard]] std::uint32_t address_of(const Network& net, const Packet& packet) const {
    return num_ports_ == 1 ? packet.target
                           : packet.target * num_ports_ +
                                 turn_of(net, packet.flow, packet.entropy) % num_ports_;
  }

  std::uint32_t num_ports_ = 1;  ///< That an endpoint has at most.
};

using DModK = Digits<true>;
using SourceRoute = Digits<false>;

}  // namespace netloom::packet
