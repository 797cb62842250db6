// Endpoints as senders that are answered, or not in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/endpoints.hpp"

namespace netloom::packet {

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::answer(Index index) {
  const Packet& packet = net_.pool[index];
  const std::uint32_t flow = packet.flow;
  Outgoing& out = out_[flow];  // NOLINT(misc-const-correctness): only some schemes change it
  // A connection that goes on hears a notification about a message that is done.
  if (out.state == State::kDone && (!connections_.shared() || packet.form != Form::kCnp)) {
    return;
  }
  out.silences = 0;
  Outgoing& keeper = kept(flow);  // NOLINT(misc-const-correctness): likewise
  const double old_bps = keeper.cc.rate_bps();
  switch (packet.form) {
    case Form::kCnp:
      keeper.cc.on_notification(cc_settings_, keeper.line, net_.now);
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

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::acknowledge(std::uint32_t flow, Index index) {
  const Packet& packet = net_.pool[index];
  Outgoing& out = out_[flow];
  const std::uint32_t paths = connections_.keeper(flow);
  Outgoing& keeper = out_[paths];
  const bool nack = packet.form == Form::kNack;
  News news = nack ? transport_.on_nack(out.sender, extent(flow), packet)
                   : transport_.on_ack(out.sender, extent(flow), packet);
  const bool marked = (packet.flags & kMarked) != 0;
  if (set_.probe_rtts != 0) {
    const Time rtt = net_.now - packet.sent;
    news.lost_bytes += lose_overtaken(flow, packet.sent);
    Time& smooth = keeper.smooth_rtt;
    smooth = smooth == 0 ? rtt : (7 * smooth + rtt) / 8;  // RFC 6298
  }
  if (news.acked_bytes != 0) {
    keeper.doublings = 0;
    out.probed = false;
  }
  if (news.lost_bytes != 0) {
    keeper.cc.on_loss(cc_settings_, keeper.line, net_.now, news.lost_bytes);
    if ((packet.flags & kAtLastHop) != 0) {  // no path is to blame: uet-htsim processNack
      spray_.on_ack(paths, packet.entropy, marked, net_.now);
    } else {
      spray_.on_loss(paths, packet.entropy, net_.now);
    }
  }
  if (!nack || Transport::kHearsNaks) {
    keeper.cc.on_ack(cc_settings_, keeper.line, ack_of(flow, index, news, marked));
  }
  if (!nack) {
    hear(flow, packet);
  }
  if (set_.measures_timeout && packet.form == Form::kAck) {
    measure(flow, net_.now - packet.sent);
  }
  if (news.acked_bytes != 0 || news.lost_bytes != 0) {
    out.deadline = net_.now + patience(flow);
    if (set_.probe_rtts != 0 && out.deadline < out.timeout_at) {
      out.timeout_at = kNever;  // the event that was set comes too late
      expect_answer(flow);
    }
  }
  if (transport_.finished(out.sender, extent(flow))) {
    out.state = State::kDone;  // it may still stand in line: send_ready drops it
    transport_.close(out.sender);
    progress_.finished(flow);
  }
}

template <class Transport, class Cc>
inline Ack Endpoints<Transport, Cc>::ack_of(std::uint32_t flow,
                                            Index index,
                                            News news,
                                            bool marked) {
  const Packet& packet = net_.pool[index];
  const Outgoing& out = out_[flow];
  const bool full = net_.config.switches.telemetry && packet.num_hops != 0;
  Ack ack{
      .now = net_.now,
      .rtt = net_.now - packet.sent,
      .acked_bytes = news.acked_bytes,
      .acked_to = transport_.acked_to(out.sender, extent(flow)),
      .sent_to = transport_.sent_to(out.sender, extent(flow)),
      .in_flight_bytes = static_cast<std::int64_t>(transport_.in_flight(out.sender, extent(flow))),
      .times_sent = news.times_sent,
      .marked = marked,
      .hops = full ? net_.hops(index) : nullptr,
      .num_hops = full ? packet.num_hops : std::uint8_t{0},
      .pint_code = net_.config.switches.pint ? packet.num_hops : std::uint8_t{0},
  };
  if (connections_.shared()) [[unlikely]] {
    place(flow, ack);
  }
  return ack;
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::arm(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  const Time due = out.cc.next_timer();
  if (due < out.timer_at) {
    out.timer_at = std::max(due, net_.now);
    net_.events.push(out.timer_at, Kind::kTimer, flow);
  }
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::tick(std::uint32_t flow, Time when) {
  Outgoing& out = out_[flow];
  if (when != out.timer_at || (out.state == State::kDone && !connections_.shared())) {
    return;
  }
  out.timer_at = kNever;
  const double old_bps = out.cc.rate_bps();
  if (out.cc.next_timer() <= net_.now) {
    out.cc.on_timer(cc_settings_, out.line, net_.now);
  }
  move_departure(flow, out, old_bps);
  go_on(flow);
}

template <class Transport, class Cc>
Time Endpoints<Transport, Cc>::timeout(std::uint32_t flow) const {
  const std::uint64_t few = std::uint64_t{set_.timeout_low_packets} * set_.payload_bytes;
  const bool low = set_.timeout_low_packets != 0 &&
                   std::cmp_less_equal(transport_.in_flight(out_[flow].sender, extent(flow)), few);
  return std::max(low ? set_.timeout_low_ps : set_.timeout_ps, 3 * out_[flow].line.base_rtt);
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::expect_answer(std::uint32_t flow) {
  if (set_.timeout_ps == 0) {
    return;
  }
  Outgoing& out = out_[flow];
  if (out.deadline == kNever || (times_each() && out.timeout_at == kNever)) {
    out.deadline = net_.now + patience(flow);
  }
  if (out.timeout_at == kNever) {
    out.timeout_at = out.deadline;
    net_.events.push(out.timeout_at, Kind::kTimeout, flow);
  }
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::expire(std::uint32_t flow) {
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
  if (!transport_.is_waiting(out.sender) && is_patient(out)) {
    if (Transport::kPulls) {
      expect_answer(flow);
    }
    return;  // nothing is out: the next departure sets the alarm
  }
  if (probe(flow)) {
    return;
  }
  ++net_.counters.timeouts;
  Outgoing& keeper = kept(flow);
  keeper.doublings = static_cast<std::uint8_t>(std::min(keeper.doublings + 1U, set_.max_doublings));
  transport_.on_timeout(out.sender, extent(flow));
  if (connections_.shared()) {
    settle(flow);
  }
  const double old_bps = keeper.cc.rate_bps();
  keeper.cc.on_timeout(cc_settings_, keeper.line, net_.now);
  move_departure(flow, keeper, old_bps);
  spray_.on_timeout(connections_.keeper(flow), out.last_entropy, net_.now);
  expect_answer(flow);
  go_on(flow);
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::expire_each(std::uint32_t flow) {
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
    const double old_bps = keeper.cc.rate_bps();
    const Time patient = patience_of_each(flow);
    for (; oldest && oldest->age >= patient; oldest = transport_.oldest(out.sender, net_.now)) {
      ++net_.counters.timeouts;
      transport_.expire(out.sender, extent(flow), *oldest, net_.now, out.line.base_rtt);
      keeper.cc.on_timeout(cc_settings_, keeper.line, net_.now);
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

template <class Transport, class Cc>
bool Endpoints<Transport, Cc>::probe(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (set_.probe_rtts == 0 || out.probed) {
    return false;
  }
  out.probed = true;
  if constexpr (requires { transport_.repeat_last(out.sender, extent(flow)); }) {
    transport_.repeat_last(out.sender, extent(flow));
    if (connections_.shared()) {
      settle(flow);
    }
  }
  ++net_.counters.probes;
  out.deadline = net_.now + patience(flow);
  expect_answer(flow);
  offer(flow);
  return true;
}

}  // namespace netloom::packet
