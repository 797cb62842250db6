// TIMELY: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter" (SIGCOMM 2015),
// with the rules of HPCC-ns3 (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc): one
// update a round trip, no reaction in between.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class Timely : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "timely",
  };

  struct Settings {
    double smoothing = 0.875;               // HPCC-ns3 TimelyAlpha
    double decrease = 0.8;                  // HPCC-ns3 TimelyBeta
    Time low = 50 * kMicrosecond;           // HPCC-ns3 TimelyTLow
    Time high = 500 * kMicrosecond;         // HPCC-ns3 TimelyTHigh
    Time gradient_per = 20 * kMicrosecond;  // HPCC-ns3 TimelyMinRtt
    std::uint8_t hyper_after = 5;           // increases in a row: HPCC-ns3, the paper's N
    double additive_of_line = 1e-3;         // 10 Mb/s at 10 Gb/s: HPCC-ns3 run.py
    double hyper_of_line = 5e-3;            // 50 Mb/s at 10 Gb/s: HPCC-ns3 run.py
    double min_rate_bps = 1e9;              // HPCC-ns3 run.py
    Window window = Window::kNone;          // run.py `timely_vwin` (TIMELY+w): kScaled
    Time rtt = 0;                           // for the window; 0: the flow's own

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("smoothing", smoothing)("decrease", decrease)("low_ps", low)("high_ps", high)(
          "gradient_per_ps", gradient_per)("hyper_after", hyper_after)(
          "additive_of_line", additive_of_line)("hyper_of_line", hyper_of_line)(
          "min_rate_bps", min_rate_bps)("window", window)("rtt_ps", rtt);
    }
  };

  static Timely make(const Settings& settings, const Line& line, Time /*now*/) {
    Timely flow;
    flow.set_rate(settings, line, line.rate_bps);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    updated_to_ = std::min(updated_to_, ack.sent_to);  // a sender that went back starts over
    if (ack.acked_to <= updated_to_) {
      return;
    }
    if (updated_to_ != 0) {
      const auto change = static_cast<double>(ack.rtt - last_rtt_);
      change_ps_ = (1 - settings.smoothing) * change_ps_ + settings.smoothing * change;
      update(settings, line, ack.rtt);
    }
    if (ack.sent_to > updated_to_) {
      updated_to_ = ack.sent_to;
      last_rtt_ = ack.rtt;
    }
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_or_none(window_bytes_); }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  void update(const Settings& settings, const Line& line, Time rtt) {
    const double gradient = change_ps_ / static_cast<double>(settings.gradient_per);
    if (rtt < settings.low || (rtt <= settings.high && gradient <= 0)) {
      const double step =
          stage_ < settings.hyper_after ? settings.additive_of_line : settings.hyper_of_line;
      stage_ = static_cast<std::uint8_t>(std::min(stage_ + 1, 0xFF));
      set_rate(settings, line, rate_bps_ + step * line.rate_bps);
      return;
    }
    const double excess = rtt > settings.high
                              ? 1 - static_cast<double>(settings.high) / static_cast<double>(rtt)
                              : gradient;
    stage_ = 0;
    set_rate(settings, line, rate_bps_ * std::max(1 - settings.decrease * excess, 0.0));
  }

  void set_rate(const Settings& settings, const Line& line, double rate_bps) {
    rate_bps_ = bounded(rate_bps, settings.min_rate_bps, line);
    window_bytes_ = window_beside(settings.window, rate_bps_, rtt_of(settings.rtt, line), line);
  }

  double rate_bps_ = 0;
  double change_ps_ = 0;  ///< Smoothed, from one update to the next.
  Time last_rtt_ = 0;
  std::uint64_t updated_to_ = 0;  ///< Bytes sent at the last update.
  std::uint32_t window_bytes_ = 0;
  std::uint8_t stage_ = 0;  ///< Increases in a row.
};

static_assert(Scheme<Timely>);
static_assert(sizeof(Timely) <= 64);

}  // namespace netloom::packet::cc
