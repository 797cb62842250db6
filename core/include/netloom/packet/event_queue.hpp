// Pending events in order of (time, sequence): a calendar of sorted days, and a heap beyond it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/signals.hpp"

namespace netloom::packet {

enum class Kind : std::uint8_t {
  kArrive,    ///< A packet has crossed link `subject`; `extra` is its index.
  kStored,    ///< Packet `extra`, which came by link `subject`, is in to its tail, or processed.
  kWake,      ///< Port `subject` is free and something waits for it.
  kReady,     ///< Flow `subject` may send again by its pace.
  kTimer,     ///< The congestion control of flow `subject` asked for it.
  kTimeout,   ///< Retransmission timer of flow `subject`.
  kStart,     ///< Flow `subject` begins.
  kPause,     ///< Link `subject` is paused or resumed; `extra` says how.
  kExpire,    ///< A pause of link `subject` may have run out.
  kRefresh,   ///< The pause of link `subject` is to be repeated; or a fabric's credits, see there.
  kWatchdog,  ///< Link `subject` may have been paused for too long.
  kCredit,    ///< Link `subject` gets credit.
  kPull,      ///< Endpoint `subject` may grant again.
  kFault,     ///< Fault `subject` happens.
  kSample,    ///< Watched links are read.
  kDeadlock,  ///< Whether a circle of links waits for itself.
};

/// What happens when. `order` is the sequence number with the kind in its low 4 bits.
struct Event {
  Time when;
  std::uint64_t order;
  std::uint32_t subject;
  std::uint32_t extra;

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(order & 15U); }
};

struct Before {
  constexpr bool operator()(const Event& a, const Event& b) const {
    return a.when != b.when ? a.when < b.when : a.order < b.order;
  }
};

struct Later {
  constexpr bool operator()(const Event& a, const Event& b) const { return Before()(b, a); }
};

/// A calendar queue (Brown, CACM 1988) whose days are sorted when they come up.
///
/// Events of the next `kNumDays` days lie in their day, unsorted; later ones in a binary heap, from
/// which they move as the calendar advances. A day is sorted by counting, in time linear in its
/// events. The length of a day follows how many events come beyond the calendar, or for a day that
/// has begun; it has no influence on their order.
class EventQueue {
 public:
  EventQueue()
      : today_(kBlockEvents), days_(kNumDays), marked_(kNumDays / 64) {}

  [[nodiscard]] bool empty() const { return size() == 0; }

  [[nodiscard]] std::size_t size() const {
    return end_ - next_ + late_.size() + in_days_ + far_.size();
  }

  void push(Time when, Kind kind, std::uint32_t subject, std::uint32_t extra = 0) {
    const std::uint64_t order = (sequence_++ << 4U) | static_cast<std::uint64_t>(kind);
    const std::int64_t day = when >> shift_;
    if (is_near(day)) [[likely]] {
      sent_late_ += day - day_ > kMask / 2 ? 1U : 0U;
      Event& place = place_in(static_cast<std::size_t>(day & kMask));
      place = {.when = when, .order = order, .subject = subject, .extra = extra};
      return;
    }
    insert_elsewhere({.when = when, .order = order, .subject = subject, .extra = extra});
  }

  /// Sets the place of an event aside that may be pushed later, and returns its order.
  [[nodiscard]] std::uint64_t reserve(Kind kind) {
    return (sequence_++ << 4U) | static_cast<std::uint64_t>(kind);
  }

  void push_reserved(Time when, std::uint64_t order, std::uint32_t subject, std::uint32_t extra) {
    insert({.when = when, .order = order, .subject = subject, .extra = extra});
  }

  /// Returns the next event without removing it, null when there is none.
  [[nodiscard]] const Event* peek() {
    if (late_.empty()) [[likely]] {
      return next_ != end_ || advance() ? &today_[next_] : nullptr;
    }
    return late_is_next() ? &late_.front() : &today_[next_];
  }

  void pop() {
    if (late_.empty() || !late_is_next()) [[likely]] {
      ++next_;
      return;
    }
    std::ranges::pop_heap(late_, Later());
    late_.pop_back();
  }

  /// Events of today that are still to come, the next one first.
  [[nodiscard]] std::span<const Event> today() const {
    return std::span(today_).subspan(next_, end_ - next_);
  }

  /// Lets the next day begin before today is over, if fewer than `count` events are left of it.
  void look_ahead(std::size_t count) {
    if (end_ - next_ < count && in_days_ != 0) {
      begin_early();
    }
  }

  /// Whether a day has begun since this was last asked.
  [[nodiscard]] bool at_dawn() { return std::exchange(dawn_, false); }

  /// All pending events in their order.
  [[nodiscard]] std::vector<Event> pending() const;

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

  /// Forgets everything and holds these events instead.
  void restore(std::span<const Event> events, std::uint64_t sequence, Time now);

 private:
  static constexpr std::size_t kNumDays = std::size_t{1} << 12U;
  static constexpr std::int64_t kMask = kNumDays - 1;
  static constexpr std::size_t kReview = std::size_t{1} << 14U;  // events, or days, between reviews
  static constexpr std::size_t kCrowded = 48;  // events a day: fewer are not worth dividing
  static constexpr std::size_t kFew = 8;       // one event in this many may lie beyond the calendar
  static constexpr std::size_t kRare = 32;     // or come for the day that has begun, unfetched

  static constexpr int kMaxShift = 40;  // a second

  static constexpr std::uint32_t kNoBlock = 0xFFFFFFFFU;
  static constexpr std::uint32_t kBlockEvents = 8;
  static constexpr int kMaxHourBits = 9;  // hours that a day is sorted into, at most

  /// A few events of one day; blocks that were freed last are used first, so that they stay in
  /// cache. What an insertion must read lies elsewhere: it writes a block without waiting for it.
  struct alignas(64) Block {
    std::array<Event, kBlockEvents> events;
  };

  /// All blocks of a day but the last are full; of no blocks, too.
  struct Day {
    std::uint32_t head = kNoBlock;
    std::uint32_t tail = kNoBlock;
    std::uint32_t in_tail = kBlockEvents;
  };

  /// Whether the day lies after today, and in the calendar.
  [[nodiscard]] bool is_near(std::int64_t day) const {
    return static_cast<std::uint64_t>(day - day_) - 1 < kNumDays - 1;
  }

  void insert(const Event& event) {
    const std::int64_t day = event.when >> shift_;
    if (is_near(day)) {
      place_in(static_cast<std::size_t>(day & kMask)) = event;
    } else {
      insert_elsewhere(event);
    }
  }

  /// For today, or for after the calendar's last day.
  void insert_elsewhere(const Event& event);

  /// Between the events of today, where the place of one that has happened is free.
  [[nodiscard]] bool squeeze_in(const Event& event);

  /// Where the next event of a day goes.
  Event& place_in(std::size_t number) {
    Day& day = days_[number];
    if (day.in_tail == kBlockEvents) {
      extend(day, number);
    }
    ++in_days_;
    return blocks_[day.tail].events[day.in_tail++];
  }

  /// Adds a block to a day.
  void extend(Day& day, std::size_t number) {
    if (free_ == kNoBlock) [[unlikely]] {
      make_block();
    }
    const std::uint32_t block = std::exchange(free_, after_[free_]);
    after_[block] = kNoBlock;
    if (day.head == kNoBlock) {
      day.head = block;
      marked_[number >> 6U] |= std::uint64_t{1} << (number & 63U);
    } else {
      after_[day.tail] = block;
    }
    day.tail = block;
    day.in_tail = 0;
  }

  void make_block();

  /// Calls `use` with each block's events, in the order of their insertion.
  template <class Use>
  void each_block(const Day& day, Use use) const {
    for (std::uint32_t at = day.head; at != kNoBlock; at = after_[at]) {
      const std::uint32_t count = at == day.tail ? day.in_tail : kBlockEvents;
      use(std::span(blocks_[at].events).first(count));
    }
  }

  void append_day(const Day& day, std::vector<Event>& to) const;
  void sort_day_into_today(const Day& day);
  void sort_block_into_today(std::span<const Event> events);
  /// Sorts events of today, and returns `end`.
  std::size_t sort_hour(std::size_t begin, std::size_t end);

  /// Gives the blocks of a day back.
  void clear(Day& day);

  [[nodiscard]] bool late_is_next() const {
    return next_ == end_ || Before()(late_.front(), today_[next_]);
  }

  bool advance();
  void begin_early();
  /// Sorts a day behind what is left of today, which it becomes a part of.
  void open(std::int64_t day);
  void draw_from_far();

  [[nodiscard]] bool is_review_due() const {
    return opened_events_ >= kReview || opened_days_ >= kReview;
  }

  /// Whether enough events come for the day that has begun, or share an hour out of order, that
  /// days of half the length would cost less; those that are all at one time would not.
  [[nodiscard]] bool are_days_too_long() const;
  /// Whether too many events lie beyond the calendar, or opening days costs more than sorting them.
  [[nodiscard]] bool are_days_too_short() const;
  void review();
  void rebuild(int shift);
  [[nodiscard]] std::int64_t next_marked() const;

  std::vector<Event> today_;  ///< Sorted, up to `end_`; those before `next_` have happened.
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::vector<Event> late_;  ///< Heap: for today, but too late to be sorted in, and no room.
  std::vector<Day> days_;
  Large<Block> blocks_;
  Large<std::uint32_t> after_;  ///< The next block of the same day, or of the free ones.
  std::uint32_t free_ = kNoBlock;
  std::vector<std::uint64_t> marked_;  ///< Days that hold something.
  std::vector<Event> far_;             ///< Heap.
  std::vector<std::uint32_t> hour_end_;
  std::size_t in_days_ = 0;
  std::int64_t day_ = 0;
  int shift_ = 12;  ///< A day has 2^shift ps.
  std::uint64_t sequence_ = 0;
  std::size_t sent_far_ = 0;
  std::size_t sent_late_ = 0;  ///< Into the calendar's second half: far, if days were half as long.
  std::size_t sent_today_ = 0;
  std::size_t compared_ = 0;  ///< Events that counting did not put in order.
  bool dawn_ = false;
  std::size_t opened_days_ = 0;
  std::size_t opened_events_ = 0;
};

}  // namespace netloom::packet
