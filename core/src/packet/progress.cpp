#include "netloom/packet/host/progress.hpp"

#include <algorithm>

namespace netloom::packet {

Progress::Progress(Network& network)
    : net_(network) {
  const Work& work = net_.config.work;
  const std::size_t count = work.num_rows();
  start_ps.assign(count, -1);
  arrive_ps.assign(count, -1);
  finish_ps.assign(count, -1);
  slowed.assign(work.num_transfers(), 0);
  unfinished_ = count;
  left_.resize(count);
  follow_begin_.assign(count + 1, 0);
  for (const std::int32_t wait : work.waits) {
    ++follow_begin_[static_cast<std::size_t>(wait) + 1];
  }
  for (std::size_t i = 0; i < count; ++i) {
    follow_begin_[i + 1] += follow_begin_[i];
  }
  followers_.resize(work.waits.size());
  std::vector<std::uint32_t> at(follow_begin_.begin(), follow_begin_.end() - 1);
  for (std::size_t row = 0; row < count; ++row) {
    const auto begin = static_cast<std::size_t>(work.wait_offsets[row]);
    const auto end = static_cast<std::size_t>(work.wait_offsets[row + 1]);
    left_[row] = static_cast<std::uint32_t>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      followers_[at[static_cast<std::size_t>(work.waits[i])]++] = static_cast<std::uint32_t>(row);
    }
  }
  if (work.before.empty() && work.next_known.empty()) {
    return;
  }
  ready_.assign(count, 0);
  for (const std::uint32_t next : work.next_known) {
    if (next != kNone) {
      ++left_[next];
    }
  }
  if (work.before.empty()) {
    return;
  }
  next_.assign(count, kNone);
  for (auto row = static_cast<std::uint32_t>(count); row-- > 0;) {
    if (work.before[row] != kNone) {
      next_[work.before[row]] = row;
      ++left_[row];
    }
  }
}

void Progress::begin() {
  std::vector<std::uint32_t> ready;  // all of them before the first lets others go on
  for (std::size_t row = 0; row < left_.size(); ++row) {
    if (left_[row] == 0) {
      ready.push_back(static_cast<std::uint32_t>(row));
    }
  }
  for (const std::uint32_t row : ready) {
    schedule(row, 0);
  }
}

void Progress::schedule(std::uint32_t row, Time after) {
  const Work& work = net_.config.work;
  while (row != kNone) {
    const Time begin = std::max(work.start_ps[row], after + work.delay_ps[row]);
    if (!is_known(row)) {
      net_.events.push(std::max(begin + send_ps(row), net_.now), Kind::kStart, row);
      return;
    }
    const KnownTime takes = known_time(row);
    start_ps[row] = begin;
    const Time arrives = begin + takes.busy_ps + takes.flight_ps;
    net_.events.push(std::max(arrives, net_.now), Kind::kStart, row);
    row = let_next_send(row, begin + takes.busy_ps);
    after = row == kNone ? 0 : ready_[row];
  }
}

std::uint32_t Progress::let_next_send(std::uint32_t row, Time when) {
  const Work& work = net_.config.work;
  std::uint32_t next = next_.empty() ? kNone : next_[row];
  if (next == kNone || is_known(next)) {
    return next != kNone && release(next, when) ? next : kNone;
  }
  for (; next < work.num_transfers() && work.before[next] == row; ++next) {
    if (release(next, when)) {
      schedule(next, ready_[next]);
    }
  }
  return kNone;
}

bool Progress::release(std::uint32_t row, Time when) {
  if (!ready_.empty()) {
    ready_[row] = std::max(ready_[row], when);
  }
  return --left_[row] == 0;
}

KnownTime Progress::known_time(std::uint32_t row) const {
  const Work& work = net_.config.work;
  return work.known.empty() ? KnownTime{}
                            : work.known_times[work.known[row - work.num_transfers()]];
}

void Progress::arrived(std::uint32_t row) {
  arrive_ps[row] = net_.now + (local(row) ? 0 : net_.config.hosts.receive_ps);
  if (!net_.config.work.next_known.empty() && !is_known(row)) {
    let_known_follow(row);
  }
  for (std::uint32_t i = follow_begin_[row]; i < follow_begin_[row + 1]; ++i) {
    if (release(followers_[i], arrive_ps[row])) {
      schedule(followers_[i], ready_.empty() ? arrive_ps[row] : ready_[followers_[i]]);
    }
  }
}

void Progress::let_known_follow(std::uint32_t transfer) {
  const std::uint32_t next = net_.config.work.next_known[transfer];
  if (next == kNone) {
    return;
  }
  // Its first byte left behind the last that has arrived now.
  const Time sent = arrive_ps[transfer] - known_time(next).flight_ps;
  if (release(next, sent)) {
    schedule(next, ready_[next]);
  }
}

void Progress::finished(std::uint32_t row) {
  finish_ps[row] = std::max(net_.now, arrive_ps[row]);
  --unfinished_;
}

}  // namespace netloom::packet
