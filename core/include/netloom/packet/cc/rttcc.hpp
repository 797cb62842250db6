// A stand-in for NVIDIA's ZTR-RTTCC, whose formulas are not published (NVIDIA, "ZTR-RTT overview"
// v1.0 shows diagrams only). What is known: it probes the round trip, needs no marks from switches,
// and also hears CNPs and NACKs. Assumed, every number of it: additive increase and multiplicative
// decrease around a target round trip, once a round trip.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

class Rttcc : public NoReaction {
 public:
  static constexpr Traits kTraits{
      .name = "rttcc",
      .needs_every_ack = false,
      .acks_per_rtt = 4,  // the probes of its own that it sends; how many is assumed
  };

  struct Settings {
    double target_of_base = 1.5;     // assumed
    double decrease = 0.8;           // assumed, as TIMELY and Swift
    double max_decrease = 0.5;       // assumed, as Swift
    double additive_of_line = 1e-2;  // a round trip: assumed
    double min_rate_bps = 100e6;     // assumed

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("target_of_base", target_of_base)("decrease", decrease)(
          "max_decrease", max_decrease)("additive_of_line", additive_of_line)("min_rate_bps",
                                                                              min_rate_bps);
    }
  };

  static Rttcc make(const Settings& /*settings*/, const Line& line, Time now) {
    Rttcc flow;
    flow.rate_bps_ = line.rate_bps;
    flow.updated_at_ = now;
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.now - updated_at_ < ack.rtt) {
      return;
    }
    updated_at_ = ack.now;
    const auto rtt = static_cast<double>(ack.rtt);
    const double target = settings.target_of_base * static_cast<double>(line.base_rtt);
    if (rtt <= target) {
      rate_bps_ += settings.additive_of_line * line.rate_bps;
    } else {
      const double factor = 1 - settings.decrease * (rtt - target) / rtt;
      rate_bps_ *= std::max(factor, 1 - settings.max_decrease);
    }
    rate_bps_ = bounded(rate_bps_, settings.min_rate_bps, line);
  }

  void on_notification(const Settings& settings, const Line& line, Time now) {
    if (now - updated_at_ >= line.base_rtt) {
      updated_at_ = now;
      rate_bps_ *= 1 - settings.max_decrease;
      rate_bps_ = bounded(rate_bps_, settings.min_rate_bps, line);
    }
  }

  void on_loss(const Settings& settings, const Line& line, Time now, std::uint32_t /*bytes*/) {
    on_notification(settings, line, now);
  }

  void on_timeout(const Settings& settings, const Line& line, Time now) {
    on_notification(settings, line, now);
  }

  [[nodiscard]] static std::uint64_t window_bytes() { return kNoWindow; }

  [[nodiscard]] double rate_bps() const { return rate_bps_; }

 private:
  double rate_bps_ = 0;
  Time updated_at_ = 0;
};

static_assert(Scheme<Rttcc>);
static_assert(sizeof(Rttcc) <= 64);

}  // namespace netloom::packet::cc
