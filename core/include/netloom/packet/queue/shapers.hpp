// What holds packets back: token buckets and credit-based shaping.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "netloom/packet/config.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// Time as whole picoseconds and a rest, in parts of a picosecond that the rate divides it into.
struct ExactTime {
  Time whole = 0;
  std::int64_t rest = 0;
};

/// How long `bytes` take at a rate, to the last bit.
inline ExactTime exact_time(std::int64_t bytes, std::int64_t rate_bps) {
  ExactTime time{.whole = 8 * bytes / rate_bps, .rest = 8 * bytes % rate_bps};
  for (int group = 0; group < 4; ++group) {  // three digits at a time, so that 64 bits hold them
    time.whole = 1000 * time.whole + 1000 * time.rest / rate_bps;
    time.rest = 1000 * time.rest % rate_bps;
  }
  return time;
}

/// Tokens for `burst` bytes that come at a rate, as the time at which all of them are there again.
///
/// That time is exact: what keeps to a curve when it sets out is never held back for it later.
class TokenBucket {
 public:
  /// When `bytes` may go, from `now` on; they must not exceed the burst.
  [[nodiscard]] Time ready_at(std::int64_t bytes, const StreamSettings& set, Time now) const {
    const ExactTime spare = exact_time(set.burst_bytes - bytes, set.rate_bps);
    const Time ready = full_at_.whole - spare.whole + (full_at_.rest > spare.rest ? 1 : 0);
    return std::max(now, ready);
  }

  void take(std::int64_t bytes, const StreamSettings& set, Time when) {
    if (full_at_.whole < when) {
      full_at_ = {.whole = when, .rest = 0};
    }
    const ExactTime more = exact_time(bytes, set.rate_bps);
    full_at_.whole += more.whole;
    full_at_.rest += more.rest;
    if (full_at_.rest >= set.rate_bps) {
      ++full_at_.whole;
      full_at_.rest -= set.rate_bps;
    }
  }

  /// Takes the tokens if they are there.
  [[nodiscard]] bool meter(std::int64_t bytes, const StreamSettings& set, Time now) {
    if (bytes > set.burst_bytes || ready_at(bytes, set, now) > now) {
      return false;
    }
    take(bytes, set, now);
    return true;
  }

 private:
  ExactTime full_at_;
};

/// The credit of a lane (IEEE 802.1Qav): it rises by idleSlope while packets wait or it is below 0,
/// falls by the port's rate less that while they are sent, and is 0 at most while none waits.
class CreditShaper {
 public:
  /// A packet comes to an empty queue.
  void begin_waiting(std::int64_t idle_bps, Time now) {
    if (now >= at_) {
      bits_ = std::min(0.0, bits_ + bits_in(now - at_, idle_bps));
      at_ = now;
    }
  }

  /// When the packet that waits may go, from `now` on.
  [[nodiscard]] Time ready_at(std::int64_t idle_bps, Time now) const {
    const double owed = -bits_ - kRounding;
    if (owed <= 0) {
      return now;
    }
    const double wait_ps = std::ceil(owed * kPs / static_cast<double>(idle_bps));
    return std::max(now, at_ + static_cast<Time>(wait_ps));
  }

  /// The packet that waited is sent from `now` to `ends`.
  void send(std::int64_t idle_bps, std::int64_t port_bps, Time now, Time ends) {
    if (now > at_) {
      bits_ += bits_in(now - at_, idle_bps);
    }
    bits_ += bits_in(ends - now, idle_bps - port_bps);
    at_ = ends;
  }

 private:
  static constexpr double kPs = 1e12;
  static constexpr double kRounding = 1e-6;  // bits

  static double bits_in(Time time, std::int64_t bps) {
    return static_cast<double>(time) * (static_cast<double>(bps) / kPs);
  }

  double bits_ = 0.0;  ///< As of `at_`.
  Time at_ = 0;
};

}  // namespace netloom::packet
