// The ports of every endpoint: which one a packet takes, which lane is next, and what waits.
#pragma once

#include <bit>
#include <cstdint>

#include "netloom/packet/host/ready_flows.hpp"
#include "netloom/packet/host/software.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/queue/scheduler.hpp"

namespace netloom::packet {

/// The ports of every endpoint: which one a packet takes, which lane is next, and what waits.
class HostPorts {
 public:
  explicit HostPorts(Network& network)
      : ready(network.ports.size(), network.num_lanes, network.config.work.num_transfers()),
        software(network),
        several(!network.config.work.turn.empty()),
        net_(network),
        set_(network.config.hosts) {}

  template <class Archive>
  void visit(Archive& archive) {
    ready.visit(archive);
    software.visit(archive);
  }

  /// Lanes of a port that have something to send and may.
  [[nodiscard]] std::uint16_t pending(std::uint32_t link) {
    const Port& port = net_.port(link);
    return static_cast<std::uint16_t>((port.waiting | ready.lanes(link)) & ~port.paused);
  }

  /// The lane that sends next: the first, or whose turn it is where lanes are arbitrated or have
  /// weights.
  [[nodiscard]] std::uint8_t lane_of(std::uint32_t link, std::uint16_t able) {
    if ((able & (able - 1)) == 0) {
      return static_cast<std::uint8_t>(std::countr_zero(able));
    }
    return next_lane(net_, link, able, [this](std::uint8_t /*lane*/) {
      return set_.payload_bytes + set_.header_bytes;
    });
  }

  /// The port by which a packet of a flow leaves: of several the one whose turn it is, or the next
  /// that is up.
  [[nodiscard]] std::uint32_t port_to(std::uint32_t from,
                                      std::uint32_t to,
                                      std::uint32_t flow,
                                      std::uint16_t entropy) const {
    const auto ways = net_.ways(from, to);
    if (ways.size() == 1) [[likely]] {
      return static_cast<std::uint32_t>(ways[0]);
    }
    const std::size_t turn = turn_of(net_, flow, entropy);
    for (std::size_t pick = turn; pick < turn + ways.size(); ++pick) {
      const auto link = static_cast<std::uint32_t>(ways[pick % ways.size()]);
      if (net_.ports[link].up) {
        return link;
      }
    }
    return static_cast<std::uint32_t>(ways[turn % ways.size()]);
  }

  /// Whether a lane of the port has packets to go on with when the one that is leaving has left.
  [[nodiscard]] bool is_backlogged(std::uint32_t link, std::uint8_t lane) {
    constexpr std::uint32_t kAhead = 4;  // packets: those to one port come in no even order
    return net_.queue(link, lane).bytes >= kAhead * set_.payload_bytes;
  }

  /// Sends a packet at once if the port is free, else in its turn.
  void dispatch(std::uint32_t link, Index index) {
    const Port& port = net_.port(link);
    const std::uint8_t lane = net_.pool[index].lane;
    const bool free = port.busy_until <= net_.now && port.waiting == 0 && port.up;
    if (free && ((port.paused >> lane) & 1U) == 0) {
      net_.launch(link, index);
      if (pending(link) != 0) {
        net_.wake_later(link);
      }
      return;
    }
    net_.append(link, index);
    if (pending(link) != 0) {
      net_.wake_later(link);
    }
  }

  ReadyFlows ready;
  HostSoftware software;
  const bool several;  ///< Some endpoint has several ports.

 private:
  Network& net_;
  const HostSettings& set_;
};

}  // namespace netloom::packet
