// Endpoints as senders that are answered, or not in time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/endpoints.hpp"

namespace netloom::packet {

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::answer(Index index) {
  const Packet& packet = net_.pool[index];
  const std::uint32_t flow = packet.flow;
  Outgoing& out = out_[flow];  // NOLINT(misc-const-correctness): only some schemes change it
  if (out.state == State::kDone) {
    return;
  }
  out.silences = 0;
  const double old_bps = out.cc.rate_bps();
  switch (packet.form) {
    case Form::kCnp:
      out.cc.on_notification(cc_settings_, out.line, net_.now);
      break;
    case Form::kPull:
      if constexpr (Transport::kPulls) {
        transport_.on_pull(out.sender, packet.bits);
      }
      break;
    default:
      acknowledge(flow, index);
      if (out.state == State::kDone) {
        return;
      }
  }
  move_departure(out, old_bps);
  arm(flow);
  offer(flow);
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::acknowledge(std::uint32_t flow, Index index) {
  const Packet& packet = net_.pool[index];
  Outgoing& out = out_[flow];
  const bool nack = packet.form == Form::kNack;
  const News news = nack ? transport_.on_nack(out.sender, extent(flow), packet)
                         : transport_.on_ack(out.sender, extent(flow), packet);
  const bool marked = (packet.flags & kMarked) != 0;
  if (set_.probe_rtts != 0) {
    const Time rtt = net_.now - packet.sent;
    out.smooth_rtt = out.smooth_rtt == 0 ? rtt : (7 * out.smooth_rtt + rtt) / 8;  // RFC 6298
  }
  if (news.acked_bytes != 0) {
    out.doublings = 0;
    out.probed = false;
  }
  if (news.lost_bytes != 0) {
    out.cc.on_loss(cc_settings_, out.line, net_.now, news.lost_bytes);
    if ((packet.flags & kAtLastHop) != 0) {  // no path is to blame: uet-htsim processNack
      spray_.on_ack(flow, packet.entropy, marked, net_.now);
    } else {
      spray_.on_loss(flow, packet.entropy, net_.now);
    }
  }
  if (!nack || Transport::kHearsNaks) {
    out.cc.on_ack(cc_settings_, out.line, ack_of(out, flow, index, news, marked));
  }
  if (!nack) {
    spray_.on_ack(flow, packet.entropy, marked, net_.now);
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
  if (when != out.timer_at || out.state == State::kDone) {
    return;
  }
  out.timer_at = kNever;
  const double old_bps = out.cc.rate_bps();
  if (out.cc.next_timer() <= net_.now) {
    out.cc.on_timer(cc_settings_, out.line, net_.now);
  }
  move_departure(out, old_bps);
  arm(flow);
  offer(flow);
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
  out.doublings = static_cast<std::uint8_t>(std::min(out.doublings + 1U, set_.max_doublings));
  transport_.on_timeout(out.sender, extent(flow));
  const double old_bps = out.cc.rate_bps();
  out.cc.on_timeout(cc_settings_, out.line, net_.now);
  move_departure(out, old_bps);
  spray_.on_timeout(flow, out.last_entropy, net_.now);
  expect_answer(flow);
  arm(flow);
  offer(flow);
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
    const double old_bps = out.cc.rate_bps();
    for (; oldest && oldest->age >= set_.timeout_ps;
         oldest = transport_.oldest(out.sender, net_.now)) {
      ++net_.counters.timeouts;
      transport_.expire(out.sender, extent(flow), *oldest, net_.now, out.line.base_rtt);
      out.cc.on_timeout(cc_settings_, out.line, net_.now);
      spray_.on_timeout(flow, oldest->entropy, net_.now);
    }
    move_departure(out, old_bps);
    if (oldest) {
      out.timeout_at = net_.now + set_.timeout_ps - oldest->age;
      net_.events.push(out.timeout_at, Kind::kTimeout, flow);
    } else if (Transport::kPulls) {
      expect_answer(flow);
    }
    arm(flow);
    offer(flow);
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
  }
  ++net_.counters.probes;
  out.deadline = net_.now + patience(flow);
  expect_answer(flow);
  offer(flow);
  return true;
}

}  // namespace netloom::packet
