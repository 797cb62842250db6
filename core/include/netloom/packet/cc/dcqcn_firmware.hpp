// DCQCN as NICs run it. Rules read in HPCC-ns3 (alibaba-edu/High-Precision-Congestion-Control,
// rdma-hw.cc, "Mellanox's version of DCQCN"): marks set flags; a clock turns them into alpha every
// microsecond and into at most one cut every four; growth is by time alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class DcqcnFirmware : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "dcqcn-firmware",
      .needs_marks = true,
      .cnp_interval_ps = 4 * kMicrosecond,  // MIN_TIME_BETWEEN_CNPS (mlxconfig dumps)
      .needs_every_ack = false,
  };

  /// A ConnectX-6/7 as it leaves the factory (mlxconfig dumps; NVIDIA DOCA, "DCQCN CC parameters").
  struct Settings {
    double gain = 5.0 / 1024;                   // DCE_TCP_G 1019
    double first_alpha = 1023.0 / 1024;         // INITIAL_ALPHA_VALUE
    Time alpha_period = kMicrosecond;           // DCE_TCP_RTT
    Time cut_period = 4 * kMicrosecond;         // RATE_REDUCE_MONITOR_PERIOD
    Time increase_period = 300 * kMicrosecond;  // RPG_TIME_RESET
    std::uint8_t recoveries = 1;                // RPG_THRESHOLD
    bool clamp_target = false;                  // CLAMP_TGT_RATE
    bool marks_in_acks = false;                 // whether a marked acknowledgement is a CNP
    Window window = Window::kNone;
    double additive_bps = 5e6;  // RPG_AI_RATE
    double hyper_bps = 50e6;    // RPG_HAI_RATE
    double steps_for_bps = 0;   // the line those steps are for; 0: any
    double min_rate_bps = 1e6;  // RPG_MIN_RATE
    Time rtt = 0;               // for the window; 0: the flow's own

    /// As in the HPCC authors' comparison (HPCC-ns3 simulation/run.py, `dcqcn`; with a scaled
    /// window `dcqcn_vwin`, which their figures call DCQCN+w).
    static constexpr Settings artifact() {
      Settings settings;
      settings.gain = 1.0 / 256;
      settings.first_alpha = 1;
      settings.marks_in_acks = true;
      settings.steps_for_bps = 25e9;
      settings.min_rate_bps = 1e9;
      return settings;
    }

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("gain", gain)("first_alpha", first_alpha)("alpha_period_ps", alpha_period)(
          "cut_period_ps", cut_period)("increase_period_ps", increase_period)(
          "recoveries", recoveries)("clamp_target", clamp_target)("marks_in_acks", marks_in_acks)(
          "window", window)("additive_bps", additive_bps)("hyper_bps", hyper_bps)(
          "steps_for_bps", steps_for_bps)("min_rate_bps", min_rate_bps)("rtt_ps", rtt);
    }
  };

  static DcqcnFirmware make(const Settings& settings, const Line& line, Time /*now*/) {
    DcqcnFirmware flow;
    flow.target_bps_ = line.rate_bps;
    flow.set_rate(settings, line, line.rate_bps);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.marked && settings.marks_in_acks) {
      on_notification(settings, line, ack.now);
    }
  }

  void on_notification(const Settings& settings, const Line& /*line*/, Time now) {
    if (!started_) {
      start(settings, now);
      return;
    }
    tick(settings, now);
    signalled_ = true;
    cut_due_ = true;
    if (check_at_ <= now) {
      check_at_ += ((now - check_at_) / settings.cut_period + 1) * settings.cut_period;
    }
  }

  void on_timer(const Settings& settings, const Line& line, Time now) {
    if (cut_due_ && now >= check_at_) {
      cut(settings, line, now);
    }
    if (now >= increase_at_) {
      increase(settings, line, now);
    }
  }

  [[nodiscard]] Time next_timer() const {
    return cut_due_ ? std::min(check_at_, increase_at_) : increase_at_;
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_or_none(window_bytes_); }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  // The first CNP starts the clocks; a cut looks just after alpha's tick.
  void start(const Settings& settings, Time now) {
    started_ = true;
    cut_due_ = true;
    alpha_ = settings.first_alpha;
    ticked_at_ = now;
    check_at_ = now + settings.cut_period + kNanosecond;
  }

  // Alpha matters at a cut alone: the ticks in between are made up for then.
  void tick(const Settings& settings, Time now) {
    const Time num_ticks = (now - ticked_at_) / settings.alpha_period;
    if (num_ticks == 0) {
      return;
    }
    alpha_ = (1 - settings.gain) * alpha_ + (signalled_ ? settings.gain : 0);
    alpha_ *= power(1 - settings.gain, static_cast<std::uint64_t>(num_ticks - 1));
    signalled_ = false;
    ticked_at_ += num_ticks * settings.alpha_period;
  }

  void cut(const Settings& settings, const Line& line, Time now) {
    tick(settings, now);
    if (settings.clamp_target || stage_ > 0) {
      target_bps_ = rate_bps_;
    }
    set_rate(settings, line, rate_bps_ * (1 - alpha_ / 2));
    stage_ = 0;
    cut_due_ = false;
    increase_at_ = now + settings.increase_period;
  }

  void increase(const Settings& settings, const Line& line, Time now) {
    if (stage_ >= settings.recoveries) {
      const double step_bps =
          stage_ == settings.recoveries ? settings.additive_bps : settings.hyper_bps;
      const double scale = settings.steps_for_bps > 0 ? line.rate_bps / settings.steps_for_bps : 1;
      target_bps_ = std::min(target_bps_ + step_bps * scale, line.rate_bps);
    }
    stage_ = static_cast<std::uint8_t>(std::min(stage_ + 1, 0xFF));
    set_rate(settings, line, (rate_bps_ + target_bps_) / 2);
    increase_at_ = now + settings.increase_period;
    if (line.rate_bps - rate_bps_ < 1) {  // there in all but rounding: rest until the next cut
      set_rate(settings, line, line.rate_bps);
      increase_at_ = kNever;
    }
  }

  void set_rate(const Settings& settings, const Line& line, double rate_bps) {
    rate_bps_ = bounded(rate_bps, settings.min_rate_bps, line);
    window_bytes_ = window_beside(settings.window, rate_bps_, rtt_of(settings.rtt, line), line);
  }

  double rate_bps_ = 0;
  double target_bps_ = 0;
  double alpha_ = 1;
  Time ticked_at_ = 0;         ///< Alpha holds as of then.
  Time check_at_ = 0;          ///< When a due cut happens.
  Time increase_at_ = kNever;  ///< Never while at line rate.
  std::uint32_t window_bytes_ = 0;
  std::uint8_t stage_ = 0;  ///< Increases since the last cut.
  bool started_ = false;
  bool signalled_ = false;  ///< A CNP came since the last tick.
  bool cut_due_ = false;
};

static_assert(Scheme<DcqcnFirmware>);
static_assert(sizeof(DcqcnFirmware) <= 64);

}  // namespace netloom::packet::cc
