// CUBIC: RFC 9438, without HyStart++ (RFC 9406).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "netloom/packet/cc/policy.hpp"
#include "netloom/packet/cc/tcp.hpp"

namespace netloom::packet::cc {

/// Cube root of `x` >= 0, in IEEE operations alone: libraries differ in the last bit of cbrt.
inline double cube_root(double x) {
  if (x <= 0) {
    return 0;
  }
  // A third of the exponent is within a third of the root; Newton doubles the digits each time.
  constexpr std::uint64_t kTwoThirdsOfOne = std::bit_cast<std::uint64_t>(1.0) / 3 * 2;
  auto root = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) / 3 + kTwoThirdsOfOne);
  for (int i = 0; i < 6; ++i) {
    root = (2 * root + x / (root * root)) / 3;
  }
  return root;
}

class Cubic : public TcpFlow {
 public:
  static constexpr Traits kTraits{
      .name = "cubic",
  };

  struct Settings : TcpSettings {
    double aggressiveness = 0.4;  // C, packets a second cubed: RFC 9438, section 5.1
    double decrease = 0.7;        // beta: RFC 9438, section 4.6

    /// Every parameter, by the name that a scenario sets it by.
    void visit(auto& parameters) {
      parameters("aggressiveness", aggressiveness)("decrease", decrease)("first_packets",
                                                                         first_packets);
    }
  };

  static Cubic make(const Settings& settings, const Line& line, Time /*now*/) {
    Cubic flow;
    flow.begin(settings, line);
    return flow;
  }

  void on_ack(const Settings& settings, const Line& line, const Ack& ack) {
    if (ack.marked) {
      on_loss(settings, line, ack.now, 0);
    }
    grow(line, ack, [&] { avoid_congestion(settings, line, ack); });
  }

  void on_loss(const Settings& settings, const Line& line, Time /*now*/, std::uint32_t bytes) {
    if (begins_cut(line, bytes)) {
      remember(settings, line);
      window().shrink(settings.decrease, line);
    }
  }

  void on_timeout(const Settings& settings, const Line& line, Time /*now*/) {
    remember(settings, line);
    restart(settings.decrease, line);
    plateau_ = 0;  // the next epoch starts on its plateau: RFC 9438, section 4.8
  }

 private:
  [[nodiscard]] double packets(const Line& line) const {
    return window().bytes() / line.payload_bytes;
  }

  // Fast convergence: a flow that never got back to its plateau makes room (RFC 9438, 4.7).
  void remember(const Settings& settings, const Line& line) {
    const double now = packets(line);
    plateau_ = now < plateau_ ? now * (1 + settings.decrease) / 2 : now;
    before_cut_ = now;
    epoch_ = kNever;
  }

  void begin_epoch(const Settings& settings, const Line& line, Time now) {
    const double packets_now = packets(line);
    epoch_ = now;
    reno_ = packets_now;
    plateau_ = std::max(plateau_, packets_now);
    climb_s_ = cube_root((plateau_ - packets_now) / settings.aggressiveness);
  }

  [[nodiscard]] double cubic_at(const Settings& settings, Time since) const {
    const double from_plateau_s = static_cast<double>(since) / kPicosecondsPerSecond - climb_s_;
    return settings.aggressiveness * from_plateau_s * from_plateau_s * from_plateau_s + plateau_;
  }

  void avoid_congestion(const Settings& settings, const Line& line, const Ack& ack) {
    if (epoch_ == kNever) {
      begin_epoch(settings, line, ack.now);
    }
    const double packets_now = packets(line);
    const double acked = static_cast<double>(ack.acked_bytes) / line.payload_bytes;
    // RFC 9438, section 4.3: as fast as Reno would grow on average, Reno's own pace once there.
    const double pace =
        reno_ < before_cut_ ? 3 * (1 - settings.decrease) / (1 + settings.decrease) : 1.0;
    reno_ += pace * acked / packets_now;
    const Time since = ack.now - epoch_;
    if (cubic_at(settings, since) < reno_) {
      window().set(std::max(reno_, packets_now) * line.payload_bytes, line);
      return;
    }
    const double target =
        std::clamp(cubic_at(settings, since + ack.rtt), packets_now, 1.5 * packets_now);
    window().set((packets_now + (target - packets_now) / packets_now * acked) * line.payload_bytes,
                 line);
  }

  double plateau_ = 0;     ///< W_max, in packets.
  double before_cut_ = 0;  ///< In packets.
  double reno_ = 0;        ///< W_est, in packets.
  double climb_s_ = 0;     ///< K: how long up to the plateau.
  Time epoch_ = kNever;    ///< When congestion avoidance began; never before it does.
};

static_assert(Scheme<Cubic>);
static_assert(sizeof(Cubic) <= 120);

}  // namespace netloom::packet::cc
