// HPCC: Li et al., "HPCC: High Precision Congestion Control" (SIGCOMM 2019). Rules read in HPCC-ns3
// (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc mode 3, int-header.h): the window is
// W = R T, the reference moves once a round trip, the rate with every acknowledgement.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

/// Of HPCC with either telemetry.
struct HpccSettings {
  double target = 0.95;            // eta: the paper; the authors' project page plots 0.99
  std::uint8_t max_stage = 0;      // HPCC-ns3 run.py; the paper's 5 is a misprint, say its authors
  double increase_of_line = 4e-4;  // 10 Mb/s at 25 Gb/s: HPCC-ns3 run.py
  double min_rate_bps = 1e9;       // HPCC-ns3 run.py
  Time rtt = 0;                    // T; 0: the flow's own. HPCC-ns3: the network's longest

  /// Every parameter, by the name that a scenario sets it by.
  void visit(auto& parameters) {
    parameters("target", target)("max_stage", max_stage)("increase_of_line", increase_of_line)(
        "min_rate_bps", min_rate_bps)("rtt_ps", rtt);
  }
};

/// One rule for both telemetries: where the rate goes from its reference.
struct HpccStep {
  double rate_bps;
  std::uint8_t stage;

  static HpccStep from(double reference_bps,
                       double utilization,
                       std::uint8_t stage,
                       const HpccSettings& settings,
                       const Line& line) {
    const double load = utilization / settings.target;
    const bool multiply = load >= 1 || stage >= settings.max_stage;
    const double rate_bps = (multiply ? reference_bps / load : reference_bps) +
                            settings.increase_of_line * line.rate_bps;
    return {
        .rate_bps = bounded(rate_bps, settings.min_rate_bps, line),
        .stage = multiply ? std::uint8_t{0} : static_cast<std::uint8_t>(stage + 1),
    };
  }
};

/// What both telemetries steer: the rate moves with every acknowledgement, the reference that it is
/// taken from once a round trip.
class HpccFlow : public NoReaction {
 public:
  using Settings = HpccSettings;

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 protected:
  void begin(const Settings& settings, const Line& line) {
    reference_bps_ = line.rate_bps;
    set_rate(settings, line, line.rate_bps);
  }

  /// Lets the next acknowledgement count as the first.
  void forget_round() { updated_to_ = 0; }

  /// Whether this is the first acknowledgement, which begins the first round trip and no more.
  bool begins_round(const Ack& ack) {
    if (updated_to_ != 0) {
      return false;
    }
    updated_to_ = ack.sent_to;
    return true;
  }

  void steer(const Settings& settings, const Line& line, const Ack& ack, double utilization) {
    const auto step = HpccStep::from(reference_bps_, utilization, stage_, settings, line);
    set_rate(settings, line, step.rate_bps);
    updated_to_ = std::min(updated_to_, ack.sent_to);  // a sender that went back starts over
    if (ack.acked_to > updated_to_) {
      reference_bps_ = step.rate_bps;
      stage_ = step.stage;
      updated_to_ = std::max(updated_to_, ack.sent_to);
    }
  }

 private:
  void set_rate(const Settings& settings, const Line& line, double rate_bps) {
    rate_bps_ = rate_bps;
    window_bytes_ = packets_begun(bdp_bytes(rate_bps, rtt_of(settings.rtt, line)), line);
  }

  double reference_bps_ = 0;
  double rate_bps_ = 0;
  std::uint64_t updated_to_ = 0;  ///< Bytes sent when the reference last moved.
  std::uint32_t window_bytes_ = 0;
  std::uint8_t stage_ = 0;
};

/// With in-band telemetry (INT) of every hop. Supposes that a flow keeps its path.
class Hpcc : public HpccFlow {
 public:
  static constexpr Traits kTraits{
      .name = "hpcc",
      .telemetry = Telemetry::kEveryHop,
      .telemetry_bytes = 42,  // HPCC-ns3 int-header.h: 5 hops of 8 bytes and 2
  };

  static Hpcc make(const Settings& settings, const Line& line, Time /*now*/) {
    Hpcc flow;
    flow.begin(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.hops == nullptr) {
      return;
    }
    const std::uint32_t unit = unit_of(line);
    if (begins_round(ack)) {
      remember(ack, unit);
      return;
    }
    observe(ack, unit, rtt_of(settings.rtt, line));
    steer(settings, line, ack, utilization_);
  }

  /// Stamps that have come round say nothing of what happened since.
  void on_idle(const Settings& /*settings*/, const Line& /*line*/, const Idle& idle) {
    if (idle.lasted / kNanosecond > static_cast<Time>(Stamp::kTimeMask)) {
      forget_round();
    }
  }

 private:
  static constexpr std::size_t kMaxHops = 5;  // int-header.h maxHop

  // What the header carries of a hop (int-header.h): nanoseconds, and bytes in units that grow with
  // the line rate. The rounding is part of the scheme.
  struct Stamp {
    static constexpr std::uint64_t kTimeMask = (1U << 24U) - 1;
    static constexpr std::uint64_t kSentMask = (1U << 20U) - 1;
    static constexpr std::uint64_t kQueueMask = (1U << 17U) - 1;
    static constexpr std::uint32_t kSentBytes = 128;
    static constexpr std::uint32_t kQueueBytes = 80;

    std::uint64_t time_ns : 24;
    std::uint64_t sent : 20;
    std::uint64_t queue : 17;

    static Stamp of(const Hop& hop, std::uint32_t unit) {
      const std::uint64_t queue = hop.queue_bytes / (kQueueBytes * unit);
      Stamp stamp{};
      stamp.time_ns = static_cast<std::uint64_t>(hop.when / kNanosecond) & kTimeMask;
      stamp.sent = hop.sent_bytes / (std::uint64_t{kSentBytes} * unit) & kSentMask;
      stamp.queue = std::min(queue, kQueueMask) & kQueueMask;
      return stamp;
    }

    [[nodiscard]] std::uint64_t ns_since(Stamp before) const {
      return (std::uint64_t{time_ns} - before.time_ns) & kTimeMask;
    }

    [[nodiscard]] double bytes_since(Stamp before, std::uint32_t unit) const {
      const std::uint64_t units = (std::uint64_t{sent} - before.sent) & kSentMask;
      return static_cast<double>(units) * kSentBytes * unit;
    }

    [[nodiscard]] double least_queue_bytes(Stamp before, std::uint32_t unit) const {
      const auto units = std::min<std::uint64_t>(queue, before.queue);
      return static_cast<double>(units) * kQueueBytes * unit;
    }
  };

  static std::uint32_t unit_of(const Line& line) {
    return std::max(static_cast<std::uint32_t>(line.rate_bps / 25e9), 1U);  // run.py int_multi
  }

  static std::size_t num_hops(const Ack& ack) {
    return std::min<std::size_t>(ack.num_hops, kMaxHops);
  }

  void remember(const Ack& ack, std::uint32_t unit) {
    for (std::size_t hop = 0; hop < num_hops(ack); ++hop) {
      seen_[hop] = Stamp::of(ack.hops[hop], unit);
    }
  }

  // Of the busiest hop: its rate since the last acknowledgement and the queue that stayed, averaged
  // over a round trip by the time between the two.
  void observe(const Ack& ack, std::uint32_t unit, Time rtt) {
    const double rtt_ns = static_cast<double>(rtt) / kNanosecond;
    double busiest = 0;
    double over_ns = 0;
    for (std::size_t hop = 0; hop < num_hops(ack); ++hop) {
      const Stamp stamp = Stamp::of(ack.hops[hop], unit);
      const auto ns = static_cast<double>(stamp.ns_since(seen_[hop]));
      const double bytes_per_ns = stamp.bytes_since(seen_[hop], unit) / std::max(ns, 1.0) +
                                  stamp.least_queue_bytes(seen_[hop], unit) / rtt_ns;
      const double load = bytes_per_ns * 8e9 / ack.hops[hop].rate_bps;
      if (ns > 0 && load > busiest) {
        busiest = load;
        over_ns = ns;
      }
      seen_[hop] = stamp;
    }
    const double weight = std::min(over_ns / rtt_ns, 1.0);
    utilization_ = (1 - weight) * utilization_ + weight * busiest;
  }

  std::array<Stamp, kMaxHops> seen_{};
  double utilization_ = 1;
};

static_assert(Scheme<Hpcc>);
static_assert(sizeof(Hpcc) <= 80);  // five hops of eight bytes

}  // namespace netloom::packet::cc
