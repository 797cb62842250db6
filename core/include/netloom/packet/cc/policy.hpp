// What the congestion controls share: units, bounds, and silence where a scheme hears nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "netloom/packet/signals.hpp"

namespace netloom::packet::cc {

constexpr Time kNanosecond = 1'000;
constexpr Time kMicrosecond = 1'000'000;
constexpr double kPicosecondsPerSecond = 1e12;

constexpr std::uint64_t kNoWindow = std::numeric_limits<std::uint64_t>::max();

/// Hears nothing and has no timer. A scheme derives from it and hides what it does hear.
struct Deaf {
  static void on_ack(const auto&... /*signal*/) {}

  static void on_notification(const auto&... /*signal*/) {}

  static void on_loss(const auto&... /*signal*/) {}

  static void on_timeout(const auto&... /*signal*/) {}

  static void on_sent(const auto&... /*signal*/) {}

  static void on_idle(const auto&... /*signal*/) {}

  static void on_timer(const auto&... /*signal*/) {}

  [[nodiscard]] static Time next_timer() { return kNever; }
};

/// How a scheme that sets a rate bounds what is in flight as well ("+w").
enum class Window : std::uint8_t {
  kNone,    ///< Not at all.
  kFixed,   ///< By the bandwidth-delay product.
  kScaled,  ///< By that product times rate over line rate, so that the window follows the rate.
};

/// Bytes that `rate_bps` carries in `rtt`.
inline double bdp_bytes(double rate_bps, Time rtt) {
  return rate_bps * static_cast<double>(rtt) / (8 * kPicosecondsPerSecond);
}

/// The flow's own round trip, unless the settings give one for all flows.
inline Time rtt_of(Time common, const Line& line) {
  return common > 0 ? common : line.base_rtt;
}

/// A window of `bytes` in full packets, at least one.
inline std::uint32_t packets_within(double bytes, const Line& line) {
  const double most = std::numeric_limits<std::uint32_t>::max() - line.payload_bytes;
  const auto whole = static_cast<std::uint32_t>(std::clamp(bytes, 0.0, most));
  return std::max(whole / line.payload_bytes, 1U) * line.payload_bytes;
}

/// As above, when a packet may start while less than `bytes` are in flight.
inline std::uint32_t packets_begun(double bytes, const Line& line) {
  return packets_within(bytes + (line.payload_bytes - 1), line);
}

/// A window as the concept wants it; zero stands for none.
inline std::uint64_t window_or_none(std::uint32_t window_bytes) {
  return window_bytes == 0 ? kNoWindow : window_bytes;
}

/// The window that goes with a rate; zero for none.
inline std::uint32_t window_beside(Window window, double rate_bps, Time rtt, const Line& line) {
  if (window == Window::kNone) {
    return 0;
  }
  const double of_rate_bps = window == Window::kFixed ? line.rate_bps : rate_bps;
  return packets_begun(bdp_bytes(of_rate_bps, rtt), line);
}

/// A rate held between a floor and the line rate.
inline double bounded(double rate_bps, double floor_bps, const Line& line) {
  return std::clamp(rate_bps, std::min(floor_bps, line.rate_bps), line.rate_bps);
}

/// `base` to the power `exponent`, in IEEE multiplications alone: equal on every machine.
inline double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

/// Lets one reaction through for each window of data.
class Episode {
 public:
  /// Whether a reaction is due; if so, none is until what is in flight has been acknowledged.
  bool begin() {
    if (open()) {
      return false;
    }
    until_ = kUnknown;
    return true;
  }

  /// Ends the episode once everything sent before it is acknowledged. The first acknowledgement
  /// after the cut says how much that was.
  void on_ack(const Ack& ack) {
    if (until_ == kUnknown) {
      until_ = ack.sent_to;
    }
    if (ack.acked_to >= until_) {
      until_ = 0;
    }
  }

  [[nodiscard]] bool open() const { return until_ != 0; }

 private:
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t until_ = 0;
};

}  // namespace netloom::packet::cc
