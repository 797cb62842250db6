// DCQCN as the paper has it: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments"
// (SIGCOMM 2015). Rules and constants read in htsim's dcqcn.cpp, but for the steps, which are a
// twentieth and a tenth of the line there; what NICs run is in dcqcn_firmware.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class Dcqcn : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "dcqcn",
      .needs_marks = true,
      .cnp_interval_ps = 50 * kMicrosecond,  // between CNPs of a flow: the paper
      .needs_every_ack = false,
  };

  struct Settings {
    double gain = 1.0 / 256;                   // g: the paper, htsim
    double first_alpha = 1.0;                  // the paper (recalled), htsim; ns3-rdma: 1/2
    Time alpha_period = 55 * kMicrosecond;     // the paper, htsim
    Time increase_period = 55 * kMicrosecond;  // the paper, htsim
    std::uint32_t counter_bytes = 10'000'000;  // the paper, htsim
    std::uint16_t recoveries = 5;              // F: the paper, htsim
    double additive_of_line = 1e-3;            // RAI: 40 Mb/s at 40 Gb/s, the paper (recalled)
    double hyper_of_line = 1e-2;               // RHAI: assumed ten RAI, the ratio NICs ship with
    double min_rate_bps = 10e6;                // assumed

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("gain", gain)("first_alpha", first_alpha)("alpha_period_ps", alpha_period)(
          "increase_period_ps", increase_period)("counter_bytes", counter_bytes)(
          "recoveries", recoveries)("additive_of_line", additive_of_line)(
          "hyper_of_line", hyper_of_line)("min_rate_bps", min_rate_bps);
    }
  };

  static Dcqcn make(const Settings& settings, const Line& line, Time /*now*/) {
    Dcqcn flow;
    flow.alpha_ = settings.first_alpha;
    flow.rate_bps_ = line.rate_bps;  // no slow start
    flow.target_bps_ = line.rate_bps;
    return flow;
  }

  void on_notification(const Settings& settings, const Line& line, Time now) {
    decay(settings, now);
    target_bps_ = rate_bps_;
    rate_bps_ = bounded(rate_bps_ * (1 - alpha_ / 2), settings.min_rate_bps, line);
    alpha_ = (1 - settings.gain) * alpha_ + settings.gain;
    alpha_at_ = now;
    num_timers_ = 0;
    num_counters_ = 0;
    counted_bytes_ = 0;
    increase_at_ = now + settings.increase_period;
  }

  void on_sent(const Settings& settings, const Line& line, Time /*now*/, std::uint32_t bytes) {
    if (increase_at_ == kNever) {
      return;
    }
    counted_bytes_ += bytes;
    if (counted_bytes_ >= settings.counter_bytes) {
      counted_bytes_ -= settings.counter_bytes;
      num_counters_ = next(num_counters_);
      increase(settings, line);
    }
  }

  void on_timer(const Settings& settings, const Line& line, Time now) {
    if (now < increase_at_) {
      return;
    }
    increase_at_ += settings.increase_period;
    num_timers_ = next(num_timers_);
    increase(settings, line);
  }

  [[nodiscard]] Time next_timer() const { return increase_at_; }

  [[nodiscard]] static std::uint64_t window_bytes() { return kNoWindow; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  static std::uint16_t next(std::uint16_t count) {
    return static_cast<std::uint16_t>(std::min(count + 1, 0xFFFF));
  }

  // Alpha matters at a cut alone: the periods without a CNP are made up for then.
  void decay(const Settings& settings, Time now) {
    if (alpha_at_ == kNever) {
      return;
    }
    const auto num_periods = static_cast<std::uint64_t>((now - alpha_at_) / settings.alpha_period);
    alpha_ *= power(1 - settings.gain, num_periods);
  }

  // F fast recoveries, then additive steps, then steps that grow once both counts are past F.
  void increase(const Settings& settings, const Line& line) {
    const std::uint16_t least = std::min(num_timers_, num_counters_);
    if (least > settings.recoveries) {
      target_bps_ += (least - settings.recoveries) * settings.hyper_of_line * line.rate_bps;
    } else if (std::max(num_timers_, num_counters_) > settings.recoveries) {
      target_bps_ += settings.additive_of_line * line.rate_bps;
    }
    target_bps_ = std::min(target_bps_, line.rate_bps);
    rate_bps_ = (rate_bps_ + target_bps_) / 2;
    if (line.rate_bps - rate_bps_ < 1) {  // there in all but rounding: rest until the next CNP
      rate_bps_ = line.rate_bps;
      increase_at_ = kNever;
    }
  }

  double rate_bps_ = 0;
  double target_bps_ = 0;
  double alpha_ = 0;
  Time alpha_at_ = kNever;     ///< The last CNP.
  Time increase_at_ = kNever;  ///< Never while at line rate.
  std::uint32_t counted_bytes_ = 0;
  std::uint16_t num_timers_ = 0;
  std::uint16_t num_counters_ = 0;
};

static_assert(Scheme<Dcqcn>);
static_assert(sizeof(Dcqcn) <= 64);

}  // namespace netloom::packet::cc
