// Bits by packet number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace netloom::packet {

/// Rings of bits by packet number, handed out to open connections and taken back.
class BitRings {
 public:
  explicit BitRings(std::uint32_t num_bits)
      : mask_(num_bits - 1), words_(num_bits / 64) {}

  std::uint32_t take() {
    if (free_.empty()) {
      const auto ring = static_cast<std::uint32_t>(bits_.size() / words_);
      bits_.resize(bits_.size() + words_);
      return ring;
    }
    const std::uint32_t ring = free_.back();
    free_.pop_back();
    return ring;
  }

  void give_back(std::uint32_t ring) {
    std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(std::size_t{ring} * words_), words_, 0);
    free_.push_back(ring);
  }

  [[nodiscard]] bool test(std::uint32_t ring, std::uint32_t number) const {
    return ((word(ring, number) >> (number & 63U)) & 1U) != 0;
  }

  void set(std::uint32_t ring, std::uint32_t number) {
    bits_[at(ring, number)] |= std::uint64_t{1} << (number & 63U);
  }

  void clear(std::uint32_t ring, std::uint32_t number) {
    bits_[at(ring, number)] &= ~(std::uint64_t{1} << (number & 63U));
  }

  /// The 64 bits around `number`.
  [[nodiscard]] std::uint64_t word(std::uint32_t ring, std::uint32_t number) const {
    return bits_[at(ring, number)];
  }

  /// The 64 bits from `number` on.
  [[nodiscard]] std::uint64_t from(std::uint32_t ring, std::uint32_t number) const {
    const std::uint64_t low = word(ring, number) >> (number & 63U);
    const std::uint32_t rest = 64 - (number & 63U);
    return rest == 64 ? low : low | word(ring, number + rest) << rest;
  }

  [[nodiscard]] std::uint32_t capacity() const { return mask_ + 1; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(bits_);
    archive(free_);
  }

 private:
  [[nodiscard]] std::size_t at(std::uint32_t ring, std::uint32_t number) const {
    return std::size_t{ring} * words_ + ((number & mask_) >> 6U);
  }

  std::uint32_t mask_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> free_;
};

}  // namespace netloom::packet
