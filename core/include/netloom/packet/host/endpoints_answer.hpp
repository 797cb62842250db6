// Endpoints as senders that are answered, or not in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
void Endpoints<Transport>::answer(Index index) {
  const Packet& packet = net_.pool[index];
  const std::uint32_t flow = packet.flow;
  Outgoing& out = out_[flow];
  // A connection that goes on hears a notification about a message that is done.
  if (out.state == State::kDone && (!connections_.shared() || packet.form != Form::kCnp)) {
    return;
  }
  out.silences = 0;
  Outgoing& keeper = kept(flow);
  const double old_bps = keeper.allowed.rate_bps;
  switch (packet.form) {
    case Form::kCnp:
      keeper.allowed = control_->on_notification(connections_.keeper(flow), keeper.line, net_.now);
      break;
    case Form::kPull:
      if constexpr (Transport::kPulls) {
        transport_.on_pull(out.sender, packet.bits);
      }
      break;
    default:
      acknowledge(flow, index);
      if (out.state == State::kDone && !connections_.shared()) {
        return;
      }
  }
  if (connections_.shared()) [[unlikely]] {
    settle(flow);
  }
  move_departure(flow, keeper, old_bps);
  go_on(flow);
}

template <class Transport>
void Endpoints<Transport>::acknowledge(std::uint32_t flow, Index index) {
  const Packet& packet = net_.pool[index];
  Outgoing& out = out_[flow];
  const std::uint32_t paths = connections_.keeper(flow);
  Outgoing& keeper = out_[paths];
  const bool nack = packet.form == Form::kNack;
  if constexpr (requires { transport_.comes_late(out.sender, packet); }) {
    rack_of(flow).disordered |= set_.probe_rtts != 0 && transport_.comes_late(out.sender, packet);
  }
  News news = nack ? transport_.on_nack(out.sender, extent(flow), packet)
                   : transport_.on_ack(out.sender, extent(flow), packet);
  const bool marked = (packet.flags & kMarked) != 0;
  if (set_.probe_rtts != 0) {
    judge_in_time(flow, packet, news);
  }
  if (news.acked_bytes != 0) {
    keeper.doublings = 0;
  }
  if (news.lost_bytes != 0) {
    keeper.allowed = control_->on_loss(paths, keeper.line, net_.now, news.lost_bytes);
    if ((packet.flags & kAtLastHop) != 0) {  // no path is to blame: uet-htsim processNack
      spray_.on_ack(paths, packet.entropy, marked, net_.now);
    } else {
      spray_.on_loss(paths, packet.entropy, net_.now);
    }
  }
  if (control_->reactions().acks && (!nack || Transport::kHearsNaks)) {
    keeper.allowed = control_->on_ack(paths, keeper.line, ack_of(flow, index, news, marked));
  }
  if (!nack) {
    hear(flow, packet);
  }
  if (set_.measures_timeout && packet.form == Form::kAck) {
    measure(flow, net_.now - packet.sent);
  }
  if (news.acked_bytes != 0 || news.lost_bytes != 0) {
    restart_timer(flow);
  }
  if (transport_.finished(out.sender, extent(flow))) {
    out.state = State::kDone;  // it may still stand in line: send_ready drops it
    transport_.close(out.sender);
    progress_.finished(flow);
  }
}

template <class Transport>
inline Ack Endpoints<Transport>::ack_of(std::uint32_t flow, Index index, News news, bool marked) {
  const Packet& packet = net_.pool[index];
  const bool full = net_.config.switches.telemetry && packet.num_hops != 0;
  Ack ack = standing(flow);
  ack.rtt = net_.now - packet.sent;
  ack.acked_bytes = news.acked_bytes;
  ack.times_sent = news.times_sent;
  ack.marked = marked;
  ack.hops = full ? net_.hops(index) : nullptr;
  ack.num_hops = full ? packet.num_hops : std::uint8_t{0};
  ack.pint_code = net_.config.switches.pint ? packet.num_hops : std::uint8_t{0};
  return ack;
}

template <class Transport>
inline Ack Endpoints<Transport>::standing(std::uint32_t flow) const {
  const auto& sender = out_[flow].sender;
  Ack ack{
      .now = net_.now,
      .acked_to = transport_.acked_to(sender, extent(flow)),
      .sent_to = transport_.sent_to(sender, extent(flow)),
      .in_flight_bytes = static_cast<std::int64_t>(transport_.in_flight(sender, extent(flow))),
  };
  if (connections_.shared()) [[unlikely]] {
    place(flow, ack);
  }
  return ack;
}

template <class Transport>
void Endpoints<Transport>::arm(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  const Time due = out.allowed.next_timer;
  if (due < out.timer_at) {
    out.timer_at = std::max(due, net_.now);
    net_.events.push(out.timer_at, Kind::kTimer, flow);
  }
}

template <class Transport>
void Endpoints<Transport>::tick(std::uint32_t flow, Time when) {
  Outgoing& out = out_[flow];
  if (when != out.timer_at || (out.state == State::kDone && !connections_.shared())) {
    return;
  }
  out.timer_at = kNever;
  const double old_bps = out.allowed.rate_bps;
  if (out.allowed.next_timer <= net_.now) {
    out.allowed = control_->on_timer(flow, out.line, net_.now);
  }
  move_departure(flow, out, old_bps);
  go_on(flow);
}

template <class Transport>
void Endpoints<Transport>::expect_answer(std::uint32_t flow) {
  if (set_.timeout_ps == 0) {
    return;
  }
  Outgoing& out = out_[flow];
  if (out.deadline == kNever || (times_each() && out.timeout_at == kNever)) {
    out.deadline = net_.now + patience(flow);
    rack_of(flow).began_at = net_.now;
  }
  if (out.timeout_at == kNever) {
    out.timeout_at = out.deadline;
    net_.events.push(out.timeout_at, Kind::kTimeout, flow);
  }
}

template <class Transport>
void Endpoints<Transport>::expire(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (out.timeout_at != net_.now || out.state == State::kDone) {
    return;  // an earlier one took its place
  }
  out.timeout_at = kNever;
  if (times_each()) {
    expire_each(flow);
    return;
  }
  if (out.deadline > net_.now) {
    expect_answer(flow);
    return;
  }
  out.deadline = kNever;
  const bool waits = transport_.is_waiting(out.sender) && awaits_answer(flow);
  if (!waits && is_patient(out)) {
    if (Transport::kPulls) {
      expect_answer(flow);
    }
    return;  // nothing is out: the next departure sets the alarm
  }
  if (bears_silence(flow)) {
    return;
  }
  ++net_.counters.timeouts;
  Outgoing& keeper = kept(flow);
  keeper.doublings = static_cast<std::uint8_t>(std::min(keeper.doublings + 1U, set_.max_doublings));
  lose_all(flow);
  rack_of(flow).on_timeout(standing(flow).sent_to);
  const double old_bps = keeper.allowed.rate_bps;
  keeper.allowed = control_->on_timeout(connections_.keeper(flow), keeper.line, net_.now);
  if constexpr (requires { transport_.lose_all(out.sender, extent(flow)); }) {
    // What is not taken for lost must leave room in the window, or nothing would be sent again.
    const std::uint64_t most = std::min(keeper.allowed.window_bytes, out.window);
    if (std::cmp_greater_equal(transport_.in_flight(out.sender, extent(flow)), most)) [[unlikely]] {
      transport_.lose_all(out.sender, extent(flow));
    }
  }
  move_departure(flow, keeper, old_bps);
  spray_.on_timeout(connections_.keeper(flow), out.last_entropy, net_.now);
  expect_answer(flow);
  go_on(flow);
}

template <class Transport>
inline bool Endpoints<Transport>::times_each() const {
  if constexpr (requires { transport_.times_each(); }) {
    return transport_.times_each();
  } else {
    return false;
  }
}

template <class Transport>
void Endpoints<Transport>::expire_each(std::uint32_t flow) {
  if constexpr (requires { transport_.times_each(); }) {
    Outgoing& out = out_[flow];
    auto oldest = transport_.oldest(out.sender, net_.now);
    if (!oldest && is_patient(out)) {
      if (Transport::kPulls) {
        expect_answer(flow);
      }
      return;  // nothing is out: the next departure sets the alarm
    }
    if (!oldest) {
      transport_.on_timeout(out.sender, extent(flow));  // a pull may have been lost
    }
    ask_if_due(flow);
    Outgoing& keeper = kept(flow);
    const double old_bps = keeper.allowed.rate_bps;
    const Time patient = patience_of_each(flow);
    for (; oldest && oldest->age >= patient; oldest = transport_.oldest(out.sender, net_.now)) {
      ++net_.counters.timeouts;
      transport_.expire(out.sender, extent(flow), *oldest, net_.now, out.line.base_rtt);
      keeper.allowed = control_->on_timeout(connections_.keeper(flow), keeper.line, net_.now);
      spray_.on_timeout(connections_.keeper(flow), oldest->entropy, net_.now);
    }
    if (connections_.shared()) {
      settle(flow);
    }
    move_departure(flow, keeper, old_bps);
    if (oldest) {
      out.timeout_at = net_.now + patient - oldest->age;
      net_.events.push(out.timeout_at, Kind::kTimeout, flow);
    } else if (Transport::kPulls) {
      expect_answer(flow);
    }
    go_on(flow);
  }
}

}  // namespace netloom::packet
