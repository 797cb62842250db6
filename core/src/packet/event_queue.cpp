#include "netloom/packet/event_queue.hpp"

namespace netloom::packet {

namespace {

constexpr int kMaxIdleShift = 16;  // 66 ns: events that are pushed into the current day cost a heap

}  // namespace

bool EventQueue::advance() {
  next_ = end_ = 0;
  if (in_days_ == 0 && far_.empty()) {
    return false;
  }
  review();
  open(in_days_ != 0 ? next_marked() : far_.front().when >> shift_);
  return true;
}

void EventQueue::begin_early() {
  if (is_review_due()) {
    return;  // the length of days changes between two of them: today shall end
  }
  const auto begin = today_.begin();
  const auto left = std::move(
      begin + static_cast<std::ptrdiff_t>(next_), begin + static_cast<std::ptrdiff_t>(end_), begin);
  next_ = 0;
  end_ = static_cast<std::size_t>(left - begin);
  open(next_marked());
}

std::int64_t EventQueue::next_marked() const {
  const auto start = static_cast<std::size_t>((day_ + 1) & kMask);
  std::size_t word = start >> 6U;
  std::uint64_t bits = marked_[word] & (~std::uint64_t{0} << (start & 63U));
  while (bits == 0) {
    word = (word + 1) & (kNumDays / 64 - 1);
    bits = marked_[word];
  }
  const std::size_t found = (word << 6U) + static_cast<std::size_t>(std::countr_zero(bits));
  return day_ + 1 + static_cast<std::int64_t>((found - start) & static_cast<std::size_t>(kMask));
}

void EventQueue::open(std::int64_t day) {
  day_ = day;
  draw_from_far();
  const auto slot = static_cast<std::size_t>(day & kMask);
  const std::size_t left = end_;
  sort_day_into_today(days_[slot]);
  clear(days_[slot]);
  marked_[slot >> 6U] &= ~(std::uint64_t{1} << (slot & 63U));
  in_days_ -= end_ - left;
  dawn_ = true;
  ++opened_days_;
  opened_events_ += end_ - left;
}

// Few, and mostly in order already.
void EventQueue::sort_block_into_today(std::span<const Event> events) {
  today_.resize(std::max(end_ + events.size(), today_.size()));
  for (const Event& event : events) {
    std::size_t at = end_++;
    for (; at != 0 && Before()(event, today_[at - 1]); --at) {
      today_[at] = today_[at - 1];
    }
    today_[at] = event;
  }
}

// By counting: about as many hours as events, so that few share one.
void EventQueue::sort_day_into_today(const Day& day) {
  if (day.head == day.tail) {
    sort_block_into_today(std::span(blocks_[day.head].events).first(day.in_tail));
    return;
  }
  std::size_t count = 0;
  each_block(day, [&count](std::span<const Event> events) { count += events.size(); });
  const int bits = std::min({shift_, static_cast<int>(std::bit_width(count)), kMaxHourBits});
  const auto hour_of = [low = shift_ - bits, mask = (Time{1} << bits) - 1](const Event& event) {
    return static_cast<std::size_t>((event.when >> low) & mask);
  };
  const std::size_t num_hours = std::size_t{1} << static_cast<unsigned>(bits);
  hour_end_.assign(num_hours + 1, 0);
  hour_end_[0] = static_cast<std::uint32_t>(end_);
  each_block(day, [this, &hour_of](std::span<const Event> events) {
    for (const Event& event : events) {
      ++hour_end_[hour_of(event) + 1];
    }
  });
  for (std::size_t hour = 1; hour < num_hours; ++hour) {
    hour_end_[hour] += hour_end_[hour - 1];
  }
  const std::size_t begin = end_;
  end_ += count;
  today_.resize(std::max(end_, today_.size()));
  each_block(day, [this, &hour_of](std::span<const Event> events) {
    for (const Event& event : events) {
      today_[hour_end_[hour_of(event)]++] = event;
    }
  });
  // Hours follow one another: what is out of order is so within its hour.
  for (std::size_t at = begin + 1; at < end_; ++at) {
    if (Before()(today_[at], today_[at - 1])) {
      const std::size_t hour = hour_of(today_[at]);
      at = sort_hour(hour == 0 ? begin : hour_end_[hour - 1], hour_end_[hour]);
    }
  }
}

std::size_t EventQueue::sort_hour(std::size_t begin, std::size_t end) {
  std::ranges::sort(std::span(today_).subspan(begin, end - begin), Before());
  compared_ += end - begin;
  return end;
}

void EventQueue::append_day(const Day& day, std::vector<Event>& to) const {
  each_block(day, [&to](std::span<const Event> events) {
    to.insert(to.end(), events.begin(), events.end());
  });
}

void EventQueue::clear(Day& day) {
  if (day.head != kNoBlock) {
    after_[day.tail] = std::exchange(free_, day.head);
  }
  day = {};
}

void EventQueue::make_block() {
  free_ = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back({});
  after_.push_back(kNoBlock);
}

void EventQueue::insert_elsewhere(const Event& event) {
  if (event.when >> shift_ > day_) {
    ++sent_far_;
    far_.push_back(event);
    std::ranges::push_heap(far_, Later());
    return;
  }
  ++sent_today_;
  if (!squeeze_in(event)) {
    late_.push_back(event);
    std::ranges::push_heap(late_, Later());
  }
}

bool EventQueue::squeeze_in(const Event& event) {
  constexpr std::size_t kReach = 16;  // events to pass: more cost as much as a heap
  const std::size_t last = std::min(end_, next_ + kReach);
  std::size_t at = next_;
  while (at != last && Before()(today_[at], event)) {
    ++at;
  }
  if (next_ == 0 || (at == last && last != end_)) {
    return false;
  }
  std::move(today_.begin() + static_cast<std::ptrdiff_t>(next_),
            today_.begin() + static_cast<std::ptrdiff_t>(at),
            today_.begin() + static_cast<std::ptrdiff_t>(next_ - 1));
  --next_;
  today_[at - 1] = event;
  return true;
}

void EventQueue::draw_from_far() {
  while (!far_.empty() &&
         (far_.front().when >> shift_) - day_ < static_cast<std::int64_t>(kNumDays)) {
    std::ranges::pop_heap(far_, Later());
    place_in(static_cast<std::size_t>((far_.back().when >> shift_) & kMask)) = far_.back();
    far_.pop_back();
  }
}

bool EventQueue::are_days_too_long() const {
  return opened_events_ > kCrowded * opened_days_ && shift_ > 0 &&
         (sent_today_ * kRare > opened_events_ || compared_ * 2 > opened_events_) &&
         (sent_far_ + sent_late_) * 2 * kFew <= opened_events_;
}

bool EventQueue::are_days_too_short() const {
  const bool in_vain = opened_events_ < 2 * opened_days_ && shift_ < kMaxIdleShift;
  return in_vain || (sent_far_ * kFew > opened_events_ && shift_ < kMaxShift);
}

void EventQueue::review() {
  if (!is_review_due()) {
    return;
  }
  if (are_days_too_short()) {
    rebuild(shift_ + 1);
  } else if (are_days_too_long()) {
    rebuild(shift_ - 1);
  }
  opened_days_ = opened_events_ = 0;
  sent_far_ = sent_late_ = sent_today_ = compared_ = 0;
}

void EventQueue::rebuild(int shift) {
  std::vector<Event> events;
  events.reserve(in_days_ + far_.size());
  for (auto& day : days_) {
    append_day(day, events);
    clear(day);
  }
  events.insert(events.end(), far_.begin(), far_.end());
  far_.clear();
  std::ranges::fill(marked_, 0);
  in_days_ = 0;
  // The last day is over: what is pending lies in later ones, of whatever length.
  day_ = shift > shift_ ? (day_ >> 1) - 1 : (day_ << 1);
  shift_ = shift;
  for (const Event& event : events) {
    insert(event);
  }
}

std::vector<Event> EventQueue::pending() const {
  const auto left = today();
  std::vector<Event> events(left.begin(), left.end());
  for (const Day& day : days_) {
    append_day(day, events);
  }
  events.insert(events.end(), far_.begin(), far_.end());
  events.insert(events.end(), late_.begin(), late_.end());
  std::ranges::sort(events, Before());
  return events;
}

void EventQueue::restore(std::span<const Event> events, std::uint64_t sequence, Time now) {
  *this = EventQueue();
  sequence_ = sequence;
  day_ = (now >> shift_) - 1;
  for (const Event& event : events) {
    insert(event);
  }
}

}  // namespace netloom::packet
