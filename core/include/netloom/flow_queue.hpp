// The next moment of each class, soonest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace netloom {

/// A binary heap of class numbers by moment, then number; a class is in it once at most.
class MomentQueue {
 public:
  explicit MomentQueue(std::size_t num_classes) : place_(num_classes, kAbsent) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::int64_t next_ps() const {
    return heap_.empty() ? std::numeric_limits<std::int64_t>::max() : heap_.front().at_ps;
  }
  [[nodiscard]] std::uint32_t next() const { return heap_.front().number; }

  /// Put a class where its moment belongs.
  void set(std::uint32_t number, std::int64_t at_ps) {
    if (place_[number] == kAbsent) {
      place_[number] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({.at_ps = at_ps, .number = number});
      rise(heap_.size() - 1);
      return;
    }
    const std::size_t at = place_[number];
    heap_[at].at_ps = at_ps;
    sink(rise(at));
  }

  void erase(std::uint32_t number) {
    const std::size_t at = place_[number];
    if (at == kAbsent) {
      return;
    }
    place_[number] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) {
      heap_[at] = last;
      place_[last.number] = static_cast<std::uint32_t>(at);
      sink(rise(at));
    }
  }

 private:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  struct Entry {
    std::int64_t at_ps;
    std::uint32_t number;
    [[nodiscard]] bool before(const Entry& other) const {
      return at_ps != other.at_ps ? at_ps < other.at_ps : number < other.number;
    }
  };

  void swap(std::size_t one, std::size_t other) {
    std::swap(heap_[one], heap_[other]);
    place_[heap_[one].number] = static_cast<std::uint32_t>(one);
    place_[heap_[other].number] = static_cast<std::uint32_t>(other);
  }

  std::size_t rise(std::size_t at) {
    while (at > 0 && heap_[at].before(heap_[(at - 1) / 2])) {
      swap(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
    return at;
  }

  void sink(std::size_t at) {
    for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) {
        ++child;
      }
      if (!heap_[child].before(heap_[at])) {
        return;
      }
      swap(at, child);
      at = child;
    }
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace netloom
