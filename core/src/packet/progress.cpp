#include "netloom/packet/host/progress.hpp"

#include <algorithm>

namespace netloom::packet {

Progress::Progress(Network& network)
    : net_(network) {
  const Work& work = net_.config.work;
  const std::size_t count = work.source.size();
  start_ps.assign(count, -1);
  arrive_ps.assign(count, -1);
  finish_ps.assign(count, -1);
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
  for (std::size_t flow = 0; flow < count; ++flow) {
    const auto begin = static_cast<std::size_t>(work.wait_offsets[flow]);
    const auto end = static_cast<std::size_t>(work.wait_offsets[flow + 1]);
    left_[flow] = static_cast<std::uint32_t>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      followers_[at[static_cast<std::size_t>(work.waits[i])]++] = static_cast<std::uint32_t>(flow);
    }
  }
}

void Progress::begin() {
  for (std::size_t flow = 0; flow < left_.size(); ++flow) {
    if (left_[flow] == 0) {
      schedule(static_cast<std::uint32_t>(flow), 0);
    }
  }
}

void Progress::schedule(std::uint32_t flow, Time after) {
  const Work& work = net_.config.work;
  const Time begin = std::max(work.start_ps[flow], after + work.delay_ps[flow]);
  net_.events.push(begin + send_ps(flow), Kind::kStart, flow);
}

void Progress::arrived(std::uint32_t flow) {
  arrive_ps[flow] = net_.now + (local(flow) ? 0 : net_.config.hosts.receive_ps);
  for (std::uint32_t i = follow_begin_[flow]; i < follow_begin_[flow + 1]; ++i) {
    if (--left_[followers_[i]] == 0) {
      schedule(followers_[i], arrive_ps[flow]);
    }
  }
}

void Progress::finished(std::uint32_t flow) {
  finish_ps[flow] = std::max(net_.now, arrive_ps[flow]);
  --unfinished_;
}

}  // namespace netloom::packet
