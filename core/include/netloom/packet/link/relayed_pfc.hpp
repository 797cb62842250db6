// PFC that ends at the edge of a site: what comes over a long link is absorbed there, and its far
// end is told at what rate it leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// PFC, and a rate for the far end of every link that is relayed (Swing, TPDS 2023; MatchRDMA).
///
/// A pause over a long link comes a round trip too late. Here the near edge holds what waits
/// and looks at it every `relay_ps` while there is any: what left of it in that time is the rate
/// that the site takes. The far edge is told that rate, less what brings the backlog to its target
/// in two round trips; twice of it while nothing waits, up to the line's own. At the far edge the
/// port sends at the rate told, what waits for it fills the buffer there, and the pauses that
/// follow have a way of metres.
class RelayedPfc {
 public:
  explicit RelayedPfc(Network& network)
      : net_(network), pfc_(network), relays_(network.ports.size()) {
    const Topology& topology = net_.config.topology;
    for (std::size_t link = 0; link < relays_.size(); ++link) {
      relays_[link].line_bps = static_cast<double>(net_.ports[link].rate_bps);
      relays_[link].told_bps = relays_[link].line_bps;
      relays_[link].rtt_ps = topology.delay_ps[link] + topology.delay_ps[link ^ 1U];
    }
  }

  [[nodiscard]] Verdict admit(std::uint32_t in, std::uint32_t out, const Packet& packet) {
    const Verdict verdict = pfc_.admit(in, out, packet);
    if (verdict == Verdict::kTake && relays(in, packet)) {
      Relay& relay = relays_[in];
      relay.waiting_bytes += packet.size_bytes;
      if (!relay.awake) {
        relay.awake = true;
        relay.left_bytes = 0;
        relay.starved = true;
        net_.events.push(net_.now + every(in), Kind::kRefresh, in, kLook);
      }
    }
    return verdict;
  }

  void depart(std::uint32_t in, const Packet& packet, Time leaves) {
    pfc_.depart(in, packet, leaves);
    if (relays(in, packet)) {
      Relay& relay = relays_[in];
      relay.waiting_bytes -= packet.size_bytes;
      relay.left_bytes += packet.size_bytes;
      relay.starved |= relay.waiting_bytes == 0;
    }
  }

  void handle(const Event& event) {
    if ((event.extra & kLook) != 0) {
      look(event.subject);
    } else if ((event.extra & kTold) != 0) {
      net_.port(event.subject).set_rate(std::int64_t{event.extra >> kRateShift} * kRateUnit);
    } else {
      pfc_.handle(event);
    }
  }

  void prefetch(std::uint32_t in, const Packet& packet) const { pfc_.prefetch(in, packet); }

  template <class Archive>
  void visit(Archive& archive) {
    pfc_.visit(archive);
    archive(relays_);
  }

 private:
  /// What waits at the near edge of a link, and what its far end was told.
  struct Relay {
    std::int64_t waiting_bytes = 0;
    std::int64_t left_bytes = 0;  ///< Since the last look.
    double line_bps = 0.0;
    double told_bps = 0.0;
    Time rtt_ps = 0;
    bool awake = false;    ///< A look is scheduled.
    bool starved = false;  ///< Nothing waited at some time since the last look.
  };

  // Of Event::extra, beside the lane of a pause: a look, or a rate in units from this bit on.
  static constexpr std::uint32_t kLook = 256;
  static constexpr std::uint32_t kTold = 512;
  static constexpr unsigned kRateShift = 10;
  static constexpr std::int64_t kRateUnit = 1'000'000;  // Mb/s: 4 Tb/s at most
  static constexpr double kMostUnits = 4'194'303.0;
  static constexpr double kLeastShare = 0.01;  // of the line: a rate is never none
  static constexpr double kNews = 0.01;        // of the line, which is worth a message
  static constexpr double kTargetShare = 0.1;  // of a round trip at line rate, that is to wait

  [[nodiscard]] Time every(std::uint32_t in) const { return net_.config.switches.relay_ps[in]; }

  [[nodiscard]] bool relays(std::uint32_t in, const Packet& packet) const {
    return packet.lane != kControl && every(in) != 0;
  }

  void look(std::uint32_t in) {
    Relay& relay = relays_[in];
    const double seconds = static_cast<double>(every(in)) / static_cast<double>(kBitPs) * 8.0;
    const double leaves_bps = static_cast<double>(relay.left_bytes) * 8.0 / seconds;
    tell(in, wanted(relay, leaves_bps));
    relay.left_bytes = 0;
    relay.starved = relay.waiting_bytes == 0;
    relay.awake = relay.waiting_bytes != 0 || relay.told_bps < relay.line_bps;
    if (relay.awake) {
      net_.events.push(net_.now + every(in), Kind::kRefresh, in, kLook);
    }
  }

  [[nodiscard]] static double wanted(const Relay& relay, double leaves_bps) {
    const double rtt_s = static_cast<double>(relay.rtt_ps) / static_cast<double>(kBitPs) * 8.0;
    const double target = kTargetShare * relay.line_bps * rtt_s / 8.0;
    const double over = static_cast<double>(relay.waiting_bytes) - target;
    const double steady = leaves_bps - over * 8.0 / (2.0 * rtt_s);
    const double rate = relay.starved ? std::max(2.0 * leaves_bps, steady) : steady;
    return std::clamp(rate, kLeastShare * relay.line_bps, relay.line_bps);
  }

  void tell(std::uint32_t in, double rate_bps) {
    Relay& relay = relays_[in];
    const double change =
        rate_bps > relay.told_bps ? rate_bps - relay.told_bps : relay.told_bps - rate_bps;
    const bool whole = rate_bps == relay.line_bps && relay.told_bps != relay.line_bps;
    if (change < kNews * relay.line_bps && !whole) {
      return;
    }
    relay.told_bps = rate_bps;
    const double units = std::clamp(rate_bps / static_cast<double>(kRateUnit), 1.0, kMostUnits);
    const Time there = net_.send_frame(in ^ 1U, net_.config.pause.frame_bytes);
    net_.events.push(
        there, Kind::kRefresh, in, kTold | static_cast<std::uint32_t>(units) << kRateShift);
    ++net_.counters.relays;
  }

  Network& net_;
  Pfc pfc_;
  std::vector<Relay> relays_;  ///< Of each link as ingress.
};

}  // namespace netloom::packet
