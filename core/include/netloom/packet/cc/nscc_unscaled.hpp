// NSCC as it was before its gains were scaled to the network: those of 100 Gb/s and 12 us, whatever
// the rate. Rules and constants read in ultraethernet/uet-htsim @146f800 (uec.cpp, main_uec.cpp),
// which brought the experiments that its results/ were made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/nscc_window.hpp"

namespace netloom::packet::cc {

class NsccUnscaled : public NsccWindow {
 public:
  static constexpr Traits kTraits{
      .name = "nscc-unscaled",
      .needs_marks = true,
  };

  struct Settings {
    Time target = 6 * kMicrosecond;          // _target_Qdelay
    double proportional_bytes2 = 4e6;        // _alpha times the target
    double proportional_bytes = 5e3;         // _pi: for each byte acknowledged, at most
    double fair_packets = 1;                 // _fi
    double always_bytes = 300;               // _eta: 0.15 x 4000 x 6 us / 12 us
    double fast = 0.25;                      // _fi_scale
    Time fast_below = kMicrosecond;          // fast_increase
    double decrease = 0.8;                   // _gamma
    double max_decrease = 0.5;               // multiplicative_decrease
    double delay_gain = 0.0125;              // _delay_alpha
    double max_window_of_bdp = 1.5;          // update_base_rtt
    double adjust_bytes = 16e3;              // _adjust_bytes_threshold
    Time adjust_period = 12 * kMicrosecond;  // _adjust_period_threshold
    double adapt_targets = 4;                // _qa_threshold
    double adapt_below = 1.0 / 8;            // of the largest window: quick_adapt
    double first_packets = 0;                // 0: the largest window

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("target_ps", target)("proportional_bytes2", proportional_bytes2)(
          "proportional_bytes", proportional_bytes)("fair_packets", fair_packets)(
          "always_bytes", always_bytes)("fast", fast)("fast_below_ps", fast_below)(
          "decrease", decrease)("max_decrease", max_decrease)("delay_gain", delay_gain)(
          "max_window_of_bdp", max_window_of_bdp)("adjust_bytes", adjust_bytes)(
          "adjust_period_ps", adjust_period)("adapt_targets", adapt_targets)(
          "adapt_below", adapt_below)("first_packets", first_packets);
    }
  };

  static NsccUnscaled make(const Settings& settings, const Line& line, Time now) {
    NsccUnscaled flow;
    flow.begin(settings, line, now);
    flow.added_at_ = now;
    flow.set(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    const std::uint32_t acked = on_wire(ack.acked_bytes, line);
    take_in(acked, line, ack);
    const auto target = static_cast<double>(settings.target);
    const double delay = hear(settings, ack, target, /*most_times=*/3);
    if (ack.marked && ignore_bytes_ > 0) {
      return;
    }
    if (!adapt(settings, line, ack.now, /*lost=*/false)) {
      if (!ack.marked) {
        grow(settings, line, acked, delay);
      } else {
        stop_fast();
        cut(settings, ack.now, delay, target);
      }
      adjust(settings, ack.now);
    }
    set(settings, line);
  }

  /// Every loss counts, also while marks are ignored.
  void on_loss(const Settings& settings, const Line& line, Time now, std::uint32_t bytes) {
    const std::uint32_t lost = on_wire(bytes, line);
    wire_bytes_ -= lost;
    bound(settings, line);
    adapt_due_ = true;
    if (ignore_bytes_ == 0) {
      adapt(settings, line, now, /*lost=*/true);
    }
    give_up(lost);
    set(settings, line);
  }

  void on_timeout(const Settings& settings, const Line& line, Time /*now*/) {
    wire_bytes_ -= line.packet_bytes;
    give_up(line.packet_bytes);
    set(settings, line);
  }

 private:
  // Quick adapt, once in a base round trip: a flow that got almost nothing through and saw loss or
  // a very long delay takes what it got for its window. Having adapted it looks again with the next
  // signal. Returns whether it has.
  bool adapt(const Settings& settings, const Line& line, Time now, bool lost) {
    if (now <= adapt_at_) {
      return false;
    }
    const double longest = settings.adapt_targets * static_cast<double>(settings.target);
    const bool bad = adapt_due_ || lost || delay_ps_ > longest;
    const double gate = settings.adapt_below * largest(settings, line);
    if (adapt_at_ != 0 && bad && achieved_bytes_ < gate && achieved_bytes_ <= wire_bytes_) {
      wire_bytes_ = achieved_bytes_;
      ignore_flight();
      adapt_due_ = false;
      return true;
    }
    achieved_bytes_ = 0;
    adapt_at_ = now + base_rtt_;
    return false;
  }

  // No mark: the same step for all, and below the target one more, the larger the shorter the
  // delay, however much was acknowledged, if anything.
  void grow(const Settings& settings, const Line& line, std::uint32_t acked, double delay) {
    const double left = 1 - delay / static_cast<double>(settings.target);
    if (left > 0) {
      if (grow_fast(settings, acked, delay, settings.fast)) {
        return;
      }
      increase_ +=
          std::min(settings.proportional_bytes * acked, settings.proportional_bytes2 * left);
    }
    increase_ += settings.fair_packets * line.packet_bytes * acked;
  }

  void cut(const Settings& settings, Time now, double delay, double target) {
    if (delay >= target) {
      NsccWindow::cut(settings, now, target);
    }
  }

  void adjust(const Settings& settings, Time now) {
    if (received_bytes_ > settings.adjust_bytes || now - adjusted_at_ > settings.adjust_period) {
      wire_bytes_ += increase_ / wire_bytes_;
      increase_ = 0;
      received_bytes_ = 0;
      adjusted_at_ = now;
    }
    if (now - added_at_ > settings.adjust_period) {
      wire_bytes_ += settings.always_bytes;
      added_at_ = now;
    }
  }

  // A packet starts while less than the window is in flight.
  void set(const Settings& settings, const Line& line) {
    bound(settings, line);
    const double packet = line.packet_bytes;
    const auto whole = static_cast<std::uint32_t>(wire_bytes_ / packet);
    const std::uint32_t part = whole * packet < wire_bytes_ ? 1 : 0;
    window_bytes_ = (whole + part) * line.payload_bytes;
  }

  Time added_at_ = 0;  ///< The bytes that always come.
};

static_assert(Scheme<NsccUnscaled>);
static_assert(sizeof(NsccUnscaled) <= 104);

}  // namespace netloom::packet::cc
