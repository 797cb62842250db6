// Frame replication and elimination (IEEE 802.1CB): each packet over several links, taken once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/packet.hpp"
#include "netloom/packet/records.hpp"

namespace netloom::packet {

/// Sequence numbers of streams, and which of them each eliminating vertex has seen.
class Replication {
 public:
  explicit Replication(const Config& config)
      : set_(config.timing),
        num_streams_(set_.stream.empty() ? config.work.num_transfers() : set_.streams.size()),
        next_(set_.replicates.empty() ? 0 : num_streams_, 1) {
    std::uint32_t count = 0;
    place_.resize(set_.eliminates.size());
    for (std::size_t vertex = 0; vertex < place_.size(); ++vertex) {
      place_[vertex] = set_.eliminates[vertex] != 0 ? count++ : kNone;
    }
    newest_.resize(count * num_streams_);
    words_ = (set_.history_packets + 63) / 64;
    seen_.resize(newest_.size() * words_);
  }

  [[nodiscard]] bool replicates_at(std::uint32_t vertex) const {
    return !set_.replicates.empty() && set_.replicates[vertex] != 0;
  }

  /// The number that a packet of a stream gets where it is first replicated.
  std::uint64_t number(std::uint32_t stream) { return next_[stream]++; }

  /// Whether the vertex drops packet `number` of a stream; 0: it was never replicated.
  [[nodiscard]] bool drops(std::uint32_t vertex,
                           std::uint32_t stream,
                           std::uint64_t number,
                           TimingCounters& counters) {
    if (set_.eliminates.empty() || place_[vertex] == kNone || number == 0) {
      return false;
    }
    const std::size_t at = place_[vertex] * num_streams_ + stream;
    std::uint64_t& newest = newest_[at];
    if (number > newest) {
      const std::uint64_t kept = set_.history_packets;
      for (std::uint64_t n = std::max(newest, number - std::min(number, kept)); n < number; ++n) {
        forget(at, n + 1);
      }
      newest = number;
      remember(at, number);
      return false;
    }
    if (newest - number >= set_.history_packets) {
      ++counters.too_late;
      return true;
    }
    if (has(at, number)) {
      ++counters.eliminated;
      return true;
    }
    remember(at, number);
    return false;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(next_);
    archive(newest_);
    archive(seen_);
  }

 private:
  [[nodiscard]] std::uint64_t& word(std::size_t at, std::uint64_t number) {
    return seen_[at * words_ + (number % set_.history_packets) / 64];
  }

  [[nodiscard]] std::uint64_t bit(std::uint64_t number) const {
    return std::uint64_t{1} << (number % set_.history_packets % 64);
  }

  [[nodiscard]] bool has(std::size_t at, std::uint64_t number) {
    return (word(at, number) & bit(number)) != 0;
  }

  void remember(std::size_t at, std::uint64_t number) { word(at, number) |= bit(number); }

  void forget(std::size_t at, std::uint64_t number) { word(at, number) &= ~bit(number); }

  const TimingSettings& set_;
  std::size_t num_streams_;
  std::vector<std::uint64_t> next_;   ///< Of each stream.
  std::vector<std::uint32_t> place_;  ///< Of each vertex among those that eliminate.
  std::vector<std::uint64_t> newest_;
  std::vector<std::uint64_t> seen_;  ///< Bits of the numbers up to the newest, by remainder.
  std::size_t words_ = 1;
};

}  // namespace netloom::packet
