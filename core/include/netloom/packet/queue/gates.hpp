// When a lane of a port may send: gate lists of IEEE 802.1Qbv.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

/// What is left of `time` after whole periods, also of times before 0.
constexpr Time remainder(Time time, Time period) {
  const Time rest = time % period;
  return rest < 0 ? rest + period : rest;
}

/// How many whole periods have begun before `time`, less one; also of times before 0.
constexpr Time quotient(Time time, Time period) {
  return (time - remainder(time, period)) / period;
}

/// The gate list of one port. A packet begins only if it ends before its gate closes.
class Gates {
 public:
  explicit Gates(const GateList& list)
      : offset_(list.offset_ps) {
    for (const GateStep& step : list.steps) {
      always_ &= step.open;
      ever_ |= step.open;
      period_ += step.duration_ps;
      steps_.push_back({.ends = period_, .open = step.open});
    }
  }

  /// The first time from `now` on at which a packet of `length` may begin; kNever: no window of its
  /// lane is that long.
  [[nodiscard]] Time next_start(std::uint8_t lane, Time length, Time now) const {
    if (steps_.empty() || ((always_ >> lane) & 1U) != 0) {
      return now;
    }
    if (((ever_ >> lane) & 1U) == 0) {
      return kNever;
    }
    const Time at = remainder(now - offset_, period_);
    const auto first = std::ranges::upper_bound(steps_, at, {}, &Step::ends);
    auto index = static_cast<std::size_t>(std::distance(steps_.begin(), first));
    Time turn = now - at;  // when this cycle began
    Time from = kNever;    // since when the gate is open
    for (std::size_t seen = 0; seen <= 2 * steps_.size(); ++seen) {
      const Time begins = turn + (index == 0 ? 0 : steps_[index - 1].ends);
      const Time ends = turn + steps_[index].ends;
      if (((steps_[index].open >> lane) & 1U) == 0) {
        from = kNever;
      } else {
        from = from == kNever ? std::max(begins, now) : from;
        if (ends - from >= length) {
          return from;
        }
      }
      if (++index == steps_.size()) {
        index = 0;
        turn += period_;
      }
    }
    return kNever;
  }

 private:
  struct Step {
    Time ends;  ///< In the cycle.
    std::uint16_t open;
  };

  Time offset_;
  Time period_ = 0;
  std::uint16_t always_ = 0xFFFFU;
  std::uint16_t ever_ = 0;
  std::vector<Step> steps_;
};

}  // namespace netloom::packet
