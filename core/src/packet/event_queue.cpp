#include "netloom/packet/event_queue.hpp"

namespace netloom::packet {

bool EventQueue::advance() {
  today_.clear();
  next_ = 0;
  if (in_days_ == 0 && far_.empty()) {
    return false;
  }
  review();
  open(in_days_ != 0 ? next_marked() : far_.front().when >> shift_);
  return true;
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
  empty_day(days_[slot], today_);
  marked_[slot >> 6U] &= ~(std::uint64_t{1} << (slot & 63U));
  in_days_ -= today_.size();
  if (!std::ranges::is_sorted(today_, Before())) {  // often all at one time
    std::ranges::sort(today_, Before());
  }
  ++opened_days_;
  opened_events_ += today_.size();
}

void EventQueue::empty_day(Day& day, std::vector<Event>& to) {
  for (std::uint32_t at = day.head; at != kNoBlock;) {
    Block& block = blocks_[at];
    to.insert(to.end(), block.events.begin(), block.events.begin() + block.count);
    const std::uint32_t next = block.next;
    block.next = free_;
    free_ = at;
    at = next;
  }
  day = {};
}

void EventQueue::draw_from_far() {
  while (!far_.empty() &&
         (far_.front().when >> shift_) - day_ < static_cast<std::int64_t>(kNumDays)) {
    std::ranges::pop_heap(far_, Later());
    put(far_.back(), static_cast<std::size_t>((far_.back().when >> shift_) & kMask));
    far_.pop_back();
  }
}

void EventQueue::review() {
  if (opened_events_ < kReview && opened_days_ < kReview) {
    return;
  }
  if (sent_far_ * kFew > opened_events_ && shift_ < kMaxShift) {
    least_shift_ = shift_ + 1;
    rebuild(shift_ + 1);
  } else if (opened_events_ > kCrowded * opened_days_ && shift_ > least_shift_) {
    rebuild(shift_ - 1);
  }
  opened_days_ = opened_events_ = sent_far_ = 0;
}

void EventQueue::rebuild(int shift) {
  std::vector<Event> events;
  events.reserve(in_days_ + far_.size());
  for (auto& day : days_) {
    empty_day(day, events);
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
  std::vector<Event> events(today_.begin() + static_cast<std::ptrdiff_t>(next_), today_.end());
  for (const Day& day : days_) {
    for (std::uint32_t at = day.head; at != kNoBlock; at = blocks_[at].next) {
      const Block& block = blocks_[at];
      events.insert(events.end(), block.events.begin(), block.events.begin() + block.count);
    }
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
