// Processor time of an event in three queues: the calendar, a binary heap and a radix heap.
//
// The hold model (Jones, CACM 1986): of a steady number of pending events the first is taken, and
// another put in its place, here as far ahead as in a network at 400 Gb/s: a packet of 4 KiB
// crosses a link of 1 us, an acknowledgement does, or a port wakes after a packet; each with up to
// 64 ns of disorder. Every queue must give the same events in the same order.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "netloom/packet/event_queue.hpp"
#include "netloom/packet/random.hpp"

namespace {

using netloom::packet::Event;
using netloom::packet::EventQueue;
using netloom::packet::Kind;
using netloom::packet::Later;
using netloom::packet::Random;
using netloom::packet::Time;

class BinaryHeap {
 public:
  void push(Time when, Kind /*kind*/, std::uint32_t subject) {
    events_.push_back({.when = when, .order = sequence_++, .subject = subject, .extra = 0});
    std::ranges::push_heap(events_, Later());
  }

  Event take() {
    std::ranges::pop_heap(events_, Later());
    const Event event = events_.back();
    events_.pop_back();
    return event;
  }

 private:
  std::vector<Event> events_;
  std::uint64_t sequence_ = 0;
};

/// Ahuja, Mehlhorn, Orlin and Tarjan (JACM 1990): a bucket for each highest bit in which a time
/// differs from the last one taken. Equal times keep the order of their insertion.
class RadixHeap {
 public:
  void push(Time when, Kind /*kind*/, std::uint32_t subject) {
    put({.when = when, .order = sequence_++, .subject = subject, .extra = 0});
  }

  Event take() {
    if (next_ == buckets_[0].size()) {
      refill();
    }
    return buckets_[0][next_++];
  }

 private:
  void put(const Event& event) {
    buckets_[static_cast<std::size_t>(
                 std::bit_width(static_cast<std::uint64_t>(event.when ^ last_)))]
        .push_back(event);
  }

  void refill() {
    buckets_[0].clear();
    next_ = 0;
    auto& first =
        *std::ranges::find_if(buckets_, [](const auto& bucket) { return !bucket.empty(); });
    last_ = std::ranges::min(first, {}, &Event::when).when;
    moved_.swap(first);
    for (const Event& event : moved_) {
      put(event);
    }
    moved_.clear();
  }

  std::array<std::vector<Event>, 65> buckets_;
  std::vector<Event> moved_;
  std::size_t next_ = 0;
  Time last_ = 0;
  std::uint64_t sequence_ = 0;
};

class Calendar {
 public:
  void push(Time when, Kind kind, std::uint32_t subject) { events_.push(when, kind, subject); }

  Event take() {
    const Event event = *events_.peek();
    events_.pop();
    return event;
  }

 private:
  EventQueue events_;
};

constexpr std::array<Time, 3> kAhead{1'083'360, 1'002'080, 83'360};
constexpr Time kDisorder = 64'000;

Time ahead(Random& random) {
  return kAhead[random.below(3)] + static_cast<Time>(random.below(kDisorder));
}

template <class Queue>
std::uint64_t hold(const char* name, std::uint32_t num_pending, std::uint32_t num_events) {
  Queue queue;
  Random random(1);
  for (std::uint32_t i = 0; i < num_pending; ++i) {
    queue.push(ahead(random), Kind::kArrive, i);
  }
  std::uint64_t seen = 0;
  const std::clock_t begin = std::clock();
  for (std::uint32_t i = 0; i < num_events; ++i) {
    const Event event = queue.take();
    seen = seen * 31 + static_cast<std::uint64_t>(event.when) + event.subject;
    queue.push(event.when + ahead(random), Kind::kArrive, event.subject);
  }
  const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf(
      "%9u pending  %-12s %6.1f ns an event\n", num_pending, name, cpu_s / num_events * 1e9);
  return seen;
}

}  // namespace

int main() {
  constexpr std::uint32_t kEvents = 3'000'000;
  for (const std::uint32_t num_pending : {1'000U, 10'000U, 50'000U, 500'000U}) {
    const std::uint64_t calendar = hold<Calendar>("calendar", num_pending, kEvents);
    const std::uint64_t binary = hold<BinaryHeap>("binary heap", num_pending, kEvents);
    const std::uint64_t radix = hold<RadixHeap>("radix heap", num_pending, kEvents);
    if (calendar != binary || calendar != radix) {
      std::puts("the queues disagree on the order");
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
