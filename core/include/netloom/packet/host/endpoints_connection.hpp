// Endpoints as senders of messages that share a connection, and its congestion control.
#pragma once

#include <cstdint>
#include <utility>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
bool Endpoints<Transport>::join(std::uint32_t flow) {
  Connection& all = connections_.of(flow);
  if (all.last == kNone) {
    all = {.first = flow, .last = flow, .sending = flow, .oldest = flow};
    return false;
  }
  const std::uint32_t before = std::exchange(all.last, flow);
  connections_.message(flow).begin_bytes =
      connections_.message(before).begin_bytes + extent(before).size_bytes;
  out_[before].after = flow;
  out_[flow].behind = is_unsent(before);
  if (!out_[flow].behind) {
    all.sending = flow;
  }
  Outgoing& keeper = out_[all.first];
  const Idle idle{.lasted = net_.now - all.sent_at, .timeout = set_.timeout_ps};
  keeper.allowed = control_->on_idle(all.first, keeper.line, idle);
  return true;
}

template <class Transport>
bool Endpoints<Transport>::is_unsent(std::uint32_t flow) const {
  const Outgoing& out = out_[flow];
  return out.state != State::kDone &&
         (out.behind || !transport_.all_sent(out.sender, extent(flow)));
}

template <class Transport>
void Endpoints<Transport>::let_next_send(std::uint32_t flow) {
  const std::uint32_t next = out_[flow].after;
  if (next == kNone || !out_[next].behind || is_unsent(flow)) {
    return;
  }
  out_[next].behind = false;
  connections_.of(flow).sending = next;
  offer(next);
  net_.wake_later(out_[next].link);  // another port's flow may be the one that is kicked
}

template <class Transport>
std::int64_t Endpoints<Transport>::flight_of_others(std::uint32_t flow) const {
  return connections_.of(flow).flight_bytes - connections_.message(flow).flight_bytes;
}

template <class Transport>
void Endpoints<Transport>::settle(std::uint32_t flow) {
  const Outgoing& out = out_[flow];
  Connection& all = connections_.of(flow);
  Message& message = connections_.message(flow);
  const bool done = out.state == State::kDone;
  const auto out_bytes = transport_.in_flight(out.sender, extent(flow));
  const auto own = done ? std::int64_t{0} : static_cast<std::int64_t>(out_bytes);
  all.flight_bytes += own - std::exchange(message.flight_bytes, own);
  const bool repeats = !done && !is_unsent(flow) && transport_.has_work(out.sender, extent(flow));
  all.num_repeating += (repeats ? 1U : 0U) - (std::exchange(message.repeats, repeats) ? 1U : 0U);
  while (out_[all.oldest].state == State::kDone && out_[all.oldest].after != kNone) {
    all.oldest = out_[all.oldest].after;
  }
}

template <class Transport>
void Endpoints<Transport>::place(std::uint32_t flow, Ack& ack) const {
  const Connection& all = connections_.of(flow);
  std::uint32_t oldest = all.oldest;
  while (out_[oldest].after != kNone && transport_.finished(out_[oldest].sender, extent(oldest))) {
    oldest = out_[oldest].after;  // all of it is acknowledged, by this answer or one before
  }
  ack.acked_to = connections_.message(oldest).begin_bytes +
                 transport_.acked_to(out_[oldest].sender, extent(oldest));
  ack.sent_to = connections_.message(all.sending).begin_bytes +
                transport_.sent_to(out_[all.sending].sender, extent(all.sending));
  ack.in_flight_bytes += flight_of_others(flow);
}

template <class Transport>
inline void Endpoints<Transport>::go_on(std::uint32_t flow) {
  if (connections_.shared()) [[unlikely]] {
    go_on_all(flow);
    return;
  }
  arm(flow);
  offer(flow);
}

template <class Transport>
void Endpoints<Transport>::go_on_all(std::uint32_t flow) {
  const Connection& all = connections_.of(flow);
  arm(all.first);
  offer(flow);
  if (all.num_repeating != 0) {
    for (std::uint32_t one = all.oldest; one != all.sending; one = out_[one].after) {
      offer(one);
    }
  }
  if (all.sending != flow) {
    offer(all.sending);
  }
}

}  // namespace netloom::packet
