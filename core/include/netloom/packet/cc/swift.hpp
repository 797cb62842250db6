// Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter" (SIGCOMM 2020), algorithm 1 and section 3.5. Rules and constants read in htsim's
// swift.cpp, whose authors call the constants a guess. The delay is the fabric's; the end hosts'
// share is not told apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class Swift : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "swift",
  };

  struct Settings {
    Time base_delay = 25 * kMicrosecond;  // htsim: 20 to 25 us
    double hop_of_base = 1 / 6.55;        // htsim; counted where telemetry counts hops
    double range_of_base = 5;             // flow scaling, fs_range: htsim
    double scale_from_packets = 0.1;      // fs_min_cwnd: htsim
    double scale_to_packets = 100;        // fs_max_cwnd: htsim
    double additive_packets = 1;          // ai: htsim
    double decrease = 0.8;                // beta: htsim
    double max_decrease = 0.5;            // max_mdf: htsim
    std::uint8_t timeouts_to_min = 5;     // htsim
    double first_packets = 10;            // assumed, as TCP
    double min_packets = 0.01;            // htsim: 10 bytes
    double max_packets = 1000;            // htsim

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("base_delay_ps", base_delay)("hop_of_base", hop_of_base)(
          "range_of_base", range_of_base)("scale_from_packets", scale_from_packets)(
          "scale_to_packets", scale_to_packets)("additive_packets", additive_packets)(
          "decrease", decrease)("max_decrease", max_decrease)("timeouts_to_min", timeouts_to_min)(
          "first_packets", first_packets)("min_packets", min_packets)("max_packets", max_packets);
    }
  };

  static Swift make(const Settings& settings, const Line& line, Time now) {
    Swift flow;
    flow.last_rtt_ = line.base_rtt;
    flow.cut_at_ = now - line.base_rtt;  // may decrease at once
    flow.set(settings, line, settings.first_packets);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    last_rtt_ = ack.rtt;
    num_timeouts_ = 0;
    const auto delay = static_cast<double>(ack.rtt);
    const double target = target_ps(settings, line, ack.num_hops);
    const double acked = static_cast<double>(ack.acked_bytes) / line.payload_bytes;
    if (delay < target) {
      set(settings, line, packets_ + settings.additive_packets * acked / std::max(packets_, 1.0));
    } else {
      const double factor = 1 - settings.decrease * (delay - target) / delay;
      shrink(settings, line, ack.now, std::max(factor, 1 - settings.max_decrease));
    }
  }

  void on_loss(const Settings& settings, const Line& line, Time now, std::uint32_t /*bytes*/) {
    shrink(settings, line, now, 1 - settings.max_decrease);
  }

  void on_timeout(const Settings& settings, const Line& line, Time now) {
    num_timeouts_ = static_cast<std::uint8_t>(std::min(num_timeouts_ + 1, 0xFF));
    if (num_timeouts_ >= settings.timeouts_to_min) {
      set(settings, line, settings.min_packets);
      cut_at_ = now;
    } else {
      shrink(settings, line, now, 1 - settings.max_decrease);
    }
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  // Small windows get a longer target, as many flows must share the queue (section 3.5). A path
  // whose empty round trip takes more than half of the base leaves as much for queues (assumed; the
  // paper's base includes the propagation): a target that no packet can keep would end in silence.
  [[nodiscard]] double target_ps(const Settings& settings,
                                 const Line& line,
                                 std::uint8_t num_hops) const {
    const auto base = static_cast<double>(settings.base_delay);
    const double more = std::max(static_cast<double>(line.base_rtt) - base / 2, 0.0);
    const double range = settings.range_of_base * base;
    const double least = 1 / std::sqrt(settings.scale_to_packets);
    const double slope = range / (1 / std::sqrt(settings.scale_from_packets) - least);
    const double scaled = slope * (1 / std::sqrt(packets_) - least);
    return more + base * (1 + settings.hop_of_base * num_hops) + std::clamp(scaled, 0.0, range);
  }

  void shrink(const Settings& settings, const Line& line, Time now, double factor) {
    if (now - cut_at_ >= last_rtt_) {
      set(settings, line, packets_ * factor);
      cut_at_ = now;
    }
  }

  // Below one packet the window is one, sent every RTT / cwnd.
  void set(const Settings& settings, const Line& line, double packets) {
    packets_ = std::clamp(packets, settings.min_packets, settings.max_packets);
    window_bytes_ = packets_within(packets_ * line.payload_bytes, line);
    const double paced_bps = packets_ * line.packet_bytes * 8 * kPicosecondsPerSecond /
                             static_cast<double>(std::max<Time>(last_rtt_, 1));
    rate_bps_ = packets_ < 1 ? std::min(paced_bps, line.rate_bps) : line.rate_bps;
  }

  double packets_ = 0;
  double rate_bps_ = 0;
  Time cut_at_ = 0;
  Time last_rtt_ = 0;
  std::uint32_t window_bytes_ = 0;
  std::uint8_t num_timeouts_ = 0;
};

static_assert(Scheme<Swift>);
static_assert(sizeof(Swift) <= 64);

}  // namespace netloom::packet::cc
