// What a congestion control scheme is, and what schemes share: traits, units and bounds.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "netloom/packet/signals.hpp"

namespace netloom::packet::cc {

constexpr Time kNanosecond = 1'000;
constexpr Time kMicrosecond = 1'000'000;
constexpr double kPicosecondsPerSecond = 1e12;

constexpr std::uint64_t kNoWindow = std::numeric_limits<std::uint64_t>::max();

/// What switches write into a scheme's packets.
enum class Telemetry : std::uint8_t {
  kNone,
  kEveryHop,  ///< Each port its own record (INT).
  kPint,      ///< One byte for the whole path (pint.hpp).
};

/// What a scheme needs of switches, receivers and transport; every scheme states its own.
struct Traits {
  std::string_view name;
  bool needs_marks = false;  ///< Switches must mark (ECN, FECN): without marks it never slows down.
  Telemetry telemetry = Telemetry::kNone;
  std::uint32_t telemetry_bytes = 0;  ///< Of that in each packet and its acknowledgement.
  Time cnp_interval_ps = 0;      ///< Receivers send CNPs or BECNs, at least so far apart; 0: none.
  bool needs_every_ack = true;   ///< Reads marks, times or telemetry of each acknowledgement.
  double acks_per_rtt = 0;       ///< Where it does not: those that it needs; 0: any number.
  bool goes_with_pulls = false;  ///< Has been modelled with receivers that pull.
};

/// What a function of `NoReaction` returns: the scheme ignores the signal.
struct Ignored {};

/// Ignores every signal and has no timer. A scheme derives from it and hides what it reacts to.
struct NoReaction {
  static Ignored on_ack(const auto&... /*signal*/) { return {}; }

  static Ignored on_notification(const auto&... /*signal*/) { return {}; }

  static Ignored on_loss(const auto&... /*signal*/) { return {}; }

  static Ignored on_timeout(const auto&... /*signal*/) { return {}; }

  static Ignored on_sent(const auto&... /*signal*/) { return {}; }

  static Ignored on_idle(const auto&... /*signal*/) { return {}; }

  static Ignored on_timer(const auto&... /*signal*/) { return {}; }

  [[nodiscard]] static Time next_timer() { return kNever; }
};

template <class T>
concept Reaction = std::same_as<T, void> || std::same_as<T, Ignored>;

/// A congestion control scheme: its traits and settings, the state of one connection, and what each
/// signal does to it.
///
/// State is plain data, so that a run can be saved and taken up again. `window_bytes` bounds
/// payload in flight, and is a whole number of full packets, at least one: whether a packet may
/// start below the window or must fit into it then makes no difference. `rate_bps` paces
/// departures on the wire. Both and `next_timer` follow from the state alone. `bytes` is payload,
/// sent or lost. Any signal may change rate, window and next timer; a timer that has passed is due
/// at once.
template <class Cc>
concept Scheme =
    std::is_trivially_copyable_v<Cc> && std::same_as<decltype(Cc::kTraits), const Traits> &&
    requires(Cc cc,
             const Cc constant,
             const Cc::Settings& settings,
             const Line& line,
             const Ack& ack,
             const Idle& idle,
             Time now,
             std::uint32_t bytes) {
      { Cc::make(settings, line, now) } -> std::same_as<Cc>;
      { cc.on_ack(settings, line, ack) } -> Reaction;
      { cc.on_notification(settings, line, now) } -> Reaction;  ///< CNP or BECN
      { cc.on_loss(settings, line, now, bytes) } -> Reaction;   ///< NACK, trim or duplicate acks
      { cc.on_timeout(settings, line, now) } -> Reaction;
      { cc.on_sent(settings, line, now, bytes) } -> Reaction;
      { cc.on_idle(settings, line, idle) } -> Reaction;  ///< Before the next message.
      { cc.on_timer(settings, line, now) } -> Reaction;
      { constant.next_timer() } -> std::same_as<Time>;  ///< kNever when none
      { constant.window_bytes() } -> std::same_as<std::uint64_t>;
      { constant.rate_bps() } -> std::same_as<double>;
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
