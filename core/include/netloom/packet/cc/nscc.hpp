// NSCC, the sender's congestion control of Ultra Ethernet (UEC specification 1.0). Rules and
// constants read in the consortium's simulator (ultraethernet/uet-htsim, uec.cpp). The window
// counts bytes on the wire, as there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class Nscc : public Deaf {
 public:
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
  };

  static Nscc make(const Settings& settings, const Line& line, Time now) {
    Nscc flow;
    flow.base_rtt_ = line.base_rtt;
    flow.adjusted_at_ = now;
    flow.cut_at_ = now - line.base_rtt;
    flow.rate_bps_ = line.rate_bps;
    flow.wire_bytes_ = settings.first_packets > 0 ? settings.first_packets * line.packet_bytes
                                                  : flow.largest(settings, line);
    flow.bound(settings, line);
    return flow;
  }

  void on_sent(const Settings& /*settings*/, const Line& line, Time /*now*/, std::uint32_t bytes) {
    in_flight_bytes_ += on_wire(bytes, line);
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    const std::uint32_t acked = on_wire(ack.acked_bytes, line);
    achieved_bytes_ += acked;
    received_bytes_ += acked;
    pass_over(acked);
    in_flight_bytes_ -= std::min(in_flight_bytes_, acked);
    base_rtt_ = std::min(base_rtt_, ack.rtt);
    const Scale scale = Scale::of(settings, line);
    const auto delay = static_cast<double>(ack.rtt - base_rtt_);
    average(settings, delay, ack.marked, scale);
    if (adapt(settings,
              line,
              {.now = ack.now, .congested = ack.marked, .lost = false, .delay = delay},
              scale)) {
      bound(settings, line);
      return;
    }
    if (ack.marked && delay >= scale.target) {
      cut(settings, ack.now, scale);
    } else if (!ack.marked) {
      grow(settings, line, acked, delay, scale);
    }
    bound(settings, line);
    adjust(settings, line, ack.now, scale);
    bound(settings, line);
  }

  void on_loss(const Settings& settings, const Line& line, Time now, std::uint32_t bytes) {
    const std::uint32_t lost = on_wire(bytes, line);
    const Scale scale = Scale::of(settings, line);
    pass_over(lost);
    average(settings, static_cast<double>(rtt_of(settings.rtt, line)), true, scale);
    adapt_due_ = true;
    if (!adapt(settings, line, {.now = now, .congested = true, .lost = true, .delay = 0}, scale)) {
      wire_bytes_ -= lost;
    }
    in_flight_bytes_ -= std::min(in_flight_bytes_, lost);
    bound(settings, line);
  }

  /// One packet is taken for lost (uet-htsim: as many as the timer finds).
  void on_timeout(const Settings& settings, const Line& line, Time /*now*/) {
    wire_bytes_ -= line.packet_bytes;
    in_flight_bytes_ -= std::min(in_flight_bytes_, line.packet_bytes);
    bound(settings, line);
  }

  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

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

  // A full packet's share of headers for every byte: exact for full packets.
  static std::uint32_t on_wire(std::uint32_t payload_bytes, const Line& line) {
    const std::uint64_t bytes = std::uint64_t{payload_bytes} * line.packet_bytes;
    return static_cast<std::uint32_t>(bytes / line.payload_bytes);
  }

  [[nodiscard]] double largest(const Settings& settings, const Line& line) const {
    return settings.max_window_of_bdp * bdp_bytes(line.rate_bps, base_rtt_);
  }

  // What is left of the bytes to ignore after a quick adapt.
  void pass_over(std::uint32_t bytes) { ignore_bytes_ -= std::min(ignore_bytes_, bytes); }

  // A long delay without a mark is a queue that has gone: a quarter round trip stands in for it.
  void average(const Settings& settings, double delay, bool marked, const Scale& scale) {
    const double sample =
        !marked && delay > scale.target ? 0.25 * static_cast<double>(base_rtt_) : delay;
    delay_ps_ += settings.delay_gain * (sample - delay_ps_);
  }

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
        ignore_bytes_ = in_flight_bytes_;
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
    const bool empty = delay < static_cast<double>(settings.fast_below);
    empty_bytes_ = empty ? empty_bytes_ + acked : 0;
    fast_ = empty && (fast_ || empty_bytes_ > wire_bytes_);
    if (fast_) {
      wire_bytes_ += settings.fast * scale.size * acked;
      return;
    }
    const double gain = settings.proportional_packets * line.payload_bytes * scale.size *
                        scale.delay / scale.target;
    increase_ += gain * acked * (scale.target - delay);
  }

  void cut(const Settings& settings, Time now, const Scale& scale) {
    fast_ = false;
    empty_bytes_ = 0;
    if (delay_ps_ > scale.target && now - cut_at_ > base_rtt_) {
      const double factor = 1 - settings.decrease * (delay_ps_ - scale.target) / delay_ps_;
      wire_bytes_ *= std::max(factor, 1 - settings.max_decrease);
      cut_at_ = now;
    }
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

  void bound(const Settings& settings, const Line& line) {
    const double packet = line.packet_bytes;
    wire_bytes_ = std::max(std::min(wire_bytes_, largest(settings, line)), packet);
    const auto num_packets = static_cast<std::uint32_t>(wire_bytes_ / packet);
    window_bytes_ = num_packets * line.payload_bytes;
  }

  double wire_bytes_ = 0;  ///< The window.
  double rate_bps_ = 0;    ///< Of the line: the window alone holds back.
  double increase_ = 0;    ///< Bytes squared, until the next adjustment.
  double delay_ps_ = 0;    ///< Smoothed.
  std::uint32_t in_flight_bytes_ = 0;
  std::uint32_t achieved_bytes_ = 0;  ///< Since quick adapt last looked.
  std::uint32_t received_bytes_ = 0;  ///< Since the last adjustment.
  std::uint32_t empty_bytes_ = 0;     ///< Acknowledged in a row with hardly any delay.
  std::uint32_t ignore_bytes_ = 0;    ///< Still to come, after a quick adapt.
  Time base_rtt_ = 0;
  Time cut_at_ = 0;
  Time adjusted_at_ = 0;
  Time adapt_at_ = 0;  ///< Zero before the first acknowledgement.
  std::uint32_t window_bytes_ = 0;
  bool fast_ = false;
  bool adapt_due_ = false;
};

static_assert(CongestionControl<Nscc>);
static_assert(sizeof(Nscc) <= 96);

}  // namespace netloom::packet::cc
