// When packets left, and by which path.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "netloom/packet/packet.hpp"

namespace netloom::packet {

/// The last departure of every packet that is out, by its number.
///
/// Each open connection has a ring that is as long as its packets have ever been apart: memory
/// follows what is in flight.
class Departures {
 public:
  /// Where a connection's departures lie.
  struct Ring {
    std::uint32_t begin = kNone;
    std::uint32_t mask = 0;
  };

  Ring take() { return take(kLeastLog); }

  void give_back(Ring ring) {
    free_.at(static_cast<std::size_t>(std::popcount(ring.mask))).push_back(ring.begin);
  }

  /// Notes that packet `number` leaves; `first` is the first that may still be asked for.
  void note(Ring& ring, std::uint32_t first, std::uint32_t number, const Packet& packet) {
    if (number - first > ring.mask) {
      grow(ring, first, number);
    }
    std::uint64_t& slot = slots_[at(ring, number)];
    const bool again = (packet.flags & kAgain) != 0;
    const std::uint64_t times = again ? std::min<std::uint64_t>(times_of(slot) + 1U, kMost) : 1;
    slot = when(packet.sent) | times << kEntropyBits | packet.entropy;
  }

  /// How long packet `number` has been out; up to 70 s.
  [[nodiscard]] Time age(Ring ring, std::uint32_t number, Time now) const {
    return static_cast<Time>((when(now) - (slots_[at(ring, number)] & ~kLow)) >> kLowBits);
  }

  /// By which path it left.
  [[nodiscard]] std::uint16_t entropy(Ring ring, std::uint32_t number) const {
    return static_cast<std::uint16_t>(slots_[at(ring, number)]);
  }

  /// How often it has left, three for more, if an answer to what left at `sent` is about the last
  /// time; else 0. NICs stamp a packet at the wire, which may be later than it was noted.
  [[nodiscard]] std::uint8_t times(Ring ring, std::uint32_t number, Time sent) const {
    const std::uint64_t slot = slots_[at(ring, number)];
    const bool is_last = static_cast<std::int64_t>(when(sent) - (slot & ~kLow)) >= 0;
    return is_last ? static_cast<std::uint8_t>(times_of(slot)) : 0;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(slots_);
    for (auto& rings : free_) {  // NOLINT(misc-const-correctness): a loader changes them
      archive(rings);
    }
  }

 private:
  // A slot: 46 bits of time, which wrap, two for how often, 16 for the path.
  static constexpr unsigned kEntropyBits = 16;
  static constexpr unsigned kLowBits = 18;
  static constexpr std::uint64_t kLow = (std::uint64_t{1} << kLowBits) - 1;
  static constexpr std::uint64_t kMost = 3;
  static constexpr unsigned kLeastLog = 4;

  static std::uint64_t when(Time time) { return static_cast<std::uint64_t>(time) << kLowBits; }

  static std::uint64_t times_of(std::uint64_t slot) { return slot >> kEntropyBits & kMost; }

  static std::size_t at(Ring ring, std::uint32_t number) {
    return std::size_t{ring.begin} + (number & ring.mask);
  }

  Ring take(unsigned log) {
    const std::uint32_t size = std::uint32_t{1} << log;
    std::vector<std::uint32_t>& rings = free_.at(log);
    if (rings.empty()) {
      const auto begin = static_cast<std::uint32_t>(slots_.size());
      slots_.resize(slots_.size() + size);
      return {.begin = begin, .mask = size - 1};
    }
    const std::uint32_t begin = rings.back();
    rings.pop_back();
    return {.begin = begin, .mask = size - 1};
  }

  void grow(Ring& ring, std::uint32_t first, std::uint32_t number) {
    const Ring longer = take(static_cast<unsigned>(std::bit_width(number - first)));
    for (std::uint32_t n = first; n != number && n - first <= ring.mask; ++n) {
      slots_[at(longer, n)] = slots_[at(ring, n)];
    }
    give_back(ring);
    ring = longer;
  }

  std::vector<std::uint64_t> slots_;
  std::array<std::vector<std::uint32_t>, 33> free_;  ///< By the logarithm of their length.
};

}  // namespace netloom::packet
