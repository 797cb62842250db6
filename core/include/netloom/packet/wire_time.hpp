// How long bytes take on a wire.
#pragma once

#include <cstdint>
#include <limits>

#include "netloom/packet/signals.hpp"

namespace netloom::packet {

constexpr std::int64_t kBitPs = 8'000'000'000'000;  ///< Picoseconds a byte takes at 1 bit/s.

/// Picoseconds that `bytes` take at `rate_bps`, rounded up.
///
/// Of many bytes, such as all quanta of a pause, bits times picoseconds are no 64-bit number: these
/// are divided three digits at a time.
inline Time wire_time(std::int64_t bytes, std::int64_t rate_bps) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / (2 * kBitPs);
  if (bytes <= kMost) [[likely]] {
    return (bytes * kBitPs + rate_bps - 1) / rate_bps;
  }
  Time time = 8 * bytes / rate_bps;
  std::int64_t rest = 8 * bytes % rate_bps;
  for (int group = 0; group < 4; ++group) {
    time = 1000 * time + 1000 * rest / rate_bps;
    rest = 1000 * rest % rate_bps;
  }
  return time + (rest != 0 ? 1 : 0);
}

}  // namespace netloom::packet
