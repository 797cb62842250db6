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
  explicit MomentQueue(std::size_t num_classes)
      : place_(num_classes, kAbsent) {}

  [[nodiscard]] std::int64_t next_ps() const {
    return heap_.empty() ? std::numeric_limits<std::int64_t>::max() : heap_.front().at_ps;
  }

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

  /// Take out every class whose moment is not after a limit, be they few or many.
  void take_until(std::int64_t limit_ps, std::vector<std::uint32_t>& taken) {
    const std::size_t before = taken.size();
    collect(limit_ps, taken);
    const std::size_t count = taken.size() - before;
    if (count > kMany && count > heap_.size() / kMany) {
      rebuild(limit_ps);
      return;
    }
    for (std::size_t i = before; i < taken.size(); ++i) {
      erase(taken[i]);
    }
  }

 private:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();
  // About the height of a heap: taking out more than one in this many costs more than rebuilding
  // it.
  static constexpr std::size_t kMany = 16;

  struct Entry {
    std::int64_t at_ps;
    std::uint32_t number;

    [[nodiscard]] bool before(const Entry& other) const {
      return at_ps != other.at_ps ? at_ps < other.at_ps : number < other.number;
    }
  };

  /// Those that are due hang together at the top of the heap.
  void collect(std::int64_t limit_ps, std::vector<std::uint32_t>& taken) {
    open_.clear();
    open_.push_back(0);
    while (!open_.empty()) {
      const std::size_t at = open_.back();
      open_.pop_back();
      if (at < heap_.size() && heap_[at].at_ps <= limit_ps) {
        taken.push_back(heap_[at].number);
        open_.push_back(2 * at + 2);
        open_.push_back(2 * at + 1);
      }
    }
  }

  void rebuild(std::int64_t limit_ps) {
    std::size_t kept = 0;
    for (const Entry& entry : heap_) {
      if (entry.at_ps <= limit_ps) {
        place_[entry.number] = kAbsent;
      } else {
        place_[entry.number] = static_cast<std::uint32_t>(kept);
        heap_[kept++] = entry;
      }
    }
    heap_.resize(kept);
    for (std::size_t at = kept / 2; at-- > 0;) {
      sink(at);
    }
  }

  void erase(std::uint32_t number) {
    const std::size_t at = place_[number];
    place_[number] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) {
      heap_[at] = last;
      place_[last.number] = static_cast<std::uint32_t>(at);
      sink(rise(at));
    }
  }

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
  std::vector<std::size_t> open_;
};

}  // namespace netloom
