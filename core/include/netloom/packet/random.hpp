// Seeded numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace netloom::packet {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed = 0)
      : seed_(seed), state_(seed) {}

  std::uint64_t operator()() {
    state_ += kStep;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  /// In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

  /// In [0, bound), by the high half of a product: biased by less than bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((((*this)() >> 32U) * bound) >> 32U);
  }

  /// How many numbers were drawn: each moves the state on by an odd step, so there is a way back.
  [[nodiscard]] std::uint64_t draws() const { return (state_ - seed_) * kBack; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
  static constexpr std::uint64_t kBack = 0xF1DE83E19937733DU;
  static_assert(kStep * kBack == 1U);

  std::uint64_t seed_;
  std::uint64_t state_;
};

}  // namespace netloom::packet
