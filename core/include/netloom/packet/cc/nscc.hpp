// NSCC, the sender's congestion control of Ultra Ethernet (UEC specification 1.0). Rules and
// constants read in the consortium's simulator (ultraethernet/uet-htsim, uec.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/nscc_window.hpp"

namespace netloom::packet::cc {

class Nscc : public NsccWindow {
 public:
  static constexpr Traits kTraits{
      .name = "nscc",
      .needs_marks = true,
      .goes_with_pulls = true,
  };

  struct Settings {
    double reference_bytes = 150e3;          // 100 Gb/s for 12 us: uet-htsim
    Time reference_rtt = 12 * kMicrosecond;  // uet-htsim
    double target_if_trimming = 0.75;        // of the network's round trip: uet-htsim
    double target_if_dropping = 1;           // uet-htsim
    double proportional_packets = 4;         // in alpha: uet-htsim
    double fair_packets = 5;                 // fi: uet-htsim
    double always_packets = 0.15;            // eta: uet-htsim
    double fast = 0.25;                      // fi_scale: uet-htsim
    Time fast_below = kMicrosecond;          // uet-htsim
    double decrease = 0.8;                   // gamma: uet-htsim
    double max_decrease = 0.5;               // uet-htsim
    double delay_gain = 0.0125;              // uet-htsim
    double max_window_of_bdp = 1.5;          // uet-htsim
    double adjust_packets = 8;               // uet-htsim
    double adapt_targets = 4;                // qa_threshold: uet-htsim
    double adapt_below = 1.0 / 8;            // of the largest window, qa_gate 3: uet-htsim
    Time rtt = 0;                            // the network's; 0: the flow's own
    double first_packets = 0;                // 0: the largest window

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("reference_bytes", reference_bytes)("reference_rtt_ps", reference_rtt)(
          "target_if_trimming", target_if_trimming)("target_if_dropping", target_if_dropping)(
          "proportional_packets", proportional_packets)("fair_packets", fair_packets)(
          "always_packets", always_packets)("fast", fast)("fast_below_ps", fast_below)(
          "decrease", decrease)("max_decrease", max_decrease)("delay_gain", delay_gain)(
          "max_window_of_bdp", max_window_of_bdp)("adjust_packets", adjust_packets)(
          "adapt_targets", adapt_targets)("adapt_below", adapt_below)("rtt_ps", rtt)(
          "first_packets", first_packets);
    }
  };

  static Nscc make(const Settings& settings, const Line& line, Time now) {
    Nscc flow;
    flow.begin(settings, line, now);
    flow.set(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    const std::uint32_t acked = on_wire(ack.acked_bytes, line);
    take_in(acked, line, ack);
    const Scale scale = Scale::of(settings, line);
    const double delay = hear(settings, ack, scale.target, /*most_times=*/2);  // validateSendTs
    if (adapt(settings,
              line,
              {.now = ack.now, .congested = ack.marked, .lost = false, .delay = delay},
              scale)) {
      set(settings, line);
      return;
    }
    if (ack.marked && delay >= scale.target) {
      stop_fast();
      cut(settings, ack.now, scale.target);
    } else if (!ack.marked) {
      grow(settings, line, acked, delay, scale);
    }
    bound(settings, line);
    adjust(settings, line, ack.now, scale);
    set(settings, line);
  }

  void on_loss(const Settings& settings, const Line& line, Time now, std::uint32_t bytes) {
    const std::uint32_t lost = on_wire(bytes, line);
    const Scale scale = Scale::of(settings, line);
    pass_over(lost);
    average(settings, static_cast<double>(rtt_of(settings.rtt, line)), true, scale.target);
    adapt_due_ = true;
    if (!adapt(settings, line, {.now = now, .congested = true, .lost = true, .delay = 0}, scale)) {
      wire_bytes_ -= lost;
    }
    give_up(lost);
    set(settings, line);
  }

  /// One packet is taken for lost (uet-htsim: as many as the timer finds).
  void on_timeout(const Settings& settings, const Line& line, Time /*now*/) {
    wire_bytes_ -= line.packet_bytes;
    give_up(line.packet_bytes);
    set(settings, line);
  }

 private:
  /// The network against the reference, by which every gain is scaled.
  struct Scale {
    double size;    ///< a: of the bandwidth-delay product.
    double delay;   ///< b: of the target.
    double target;  ///< Queueing delay aimed at, in picoseconds.

    static Scale of(const Settings& settings, const Line& line) {
      const Time rtt = rtt_of(settings.rtt, line);
      const double part = line.trims ? settings.target_if_trimming : settings.target_if_dropping;
      const double target = part * static_cast<double>(rtt);
      return {
          .size = bdp_bytes(line.rate_bps, rtt) / settings.reference_bytes,
          .delay = target / static_cast<double>(settings.reference_rtt),
          .target = target,
      };
    }
  };

  /// What quick adapt is called with.
  struct Occasion {
    Time now;
    bool congested;  ///< Marked or lost: what the bytes to ignore are about.
    bool lost;
    double delay;
  };

  // Quick adapt: once in a base round trip and a target, a flow that got almost nothing through and
  // saw loss or a very long delay takes what it got for its window, and then ignores what was in
  // flight. Returns whether the signal has been dealt with.
  bool adapt(const Settings& settings, const Line& line, const Occasion& at, const Scale& scale) {
    bool dealt = ignore_bytes_ > 0 && at.congested;
    if (!dealt && at.now > adapt_at_) {
      const bool bad = adapt_due_ || at.lost || at.delay > settings.adapt_targets * scale.target;
      const double gate = settings.adapt_below * largest(settings, line);
      if (adapt_at_ != 0 && bad && achieved_bytes_ < gate) {
        wire_bytes_ = achieved_bytes_;
        ignore_flight();
        adapt_due_ = false;
        dealt = true;
      }
      achieved_bytes_ = 0;
      adapt_at_ = at.now + base_rtt_ + static_cast<Time>(scale.target);
    }
    if (dealt) {
      increase_ = 0;
      received_bytes_ = 0;
    }
    return dealt;
  }

  // No mark: towards the target in proportion, or, beyond it, the same small step for all. A path
  // that has been empty for a window grows fast.
  void grow(const Settings& settings,
            const Line& line,
            std::uint32_t acked,
            double delay,
            const Scale& scale) {
    if (delay >= scale.target) {
      increase_ += settings.fair_packets * line.payload_bytes * scale.size * acked;
      return;
    }
    if (grow_fast(settings, acked, delay, settings.fast * scale.size)) {
      return;
    }
    const double gain = settings.proportional_packets * line.payload_bytes * scale.size *
                        scale.delay / scale.target;
    increase_ += gain * acked * (scale.target - delay);
  }

  void adjust(const Settings& settings, const Line& line, Time now, const Scale& scale) {
    const Time period = rtt_of(settings.rtt, line);
    if (received_bytes_ <= settings.adjust_packets * line.packet_bytes &&
        now - adjusted_at_ <= period) {
      return;
    }
    wire_bytes_ += increase_ / wire_bytes_;
    if (now - adjusted_at_ >= period) {
      wire_bytes_ += settings.always_packets * line.payload_bytes * scale.size;
      adjusted_at_ = now;
    }
    increase_ = 0;
    received_bytes_ = 0;
  }

  // A packet starts when it fits into the window.
  void set(const Settings& settings, const Line& line) {
    bound(settings, line);
    const auto num_packets = static_cast<std::uint32_t>(wire_bytes_ / line.packet_bytes);
    window_bytes_ = num_packets * line.payload_bytes;
  }
};

static_assert(Scheme<Nscc>);
static_assert(sizeof(Nscc) <= 96);

}  // namespace netloom::packet::cc
