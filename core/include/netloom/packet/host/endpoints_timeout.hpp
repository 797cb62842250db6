// Endpoints as senders that hear nothing, or of later packets only: RACK-TLP (RFC 8985).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
inline const Rack& Endpoints<Transport>::rack_of(std::uint32_t flow) const {
  return racks_[set_.probe_rtts != 0 ? connections_.keeper(flow) : 0];
}

template <class Transport>
inline Rack& Endpoints<Transport>::rack_of(std::uint32_t flow) {
  return racks_[set_.probe_rtts != 0 ? connections_.keeper(flow) : 0];
}

template <class Transport>
Time Endpoints<Transport>::timeout(std::uint32_t flow) const {
  const std::uint64_t few = std::uint64_t{set_.timeout_low_packets} * set_.payload_bytes;
  const bool low = set_.timeout_low_packets != 0 &&
                   std::cmp_less_equal(transport_.in_flight(out_[flow].sender, extent(flow)), few);
  return std::max(low ? set_.timeout_low_ps : set_.timeout_ps, 3 * out_[flow].line.base_rtt);
}

template <class Transport>
inline bool Endpoints<Transport>::is_patient(Outgoing& out) {
  constexpr std::uint8_t kSilences = 64;
  return !Transport::kPulls || ++out.silences % kSilences != 0;
}

template <class Transport>
Time Endpoints<Transport>::patience(std::uint32_t flow) const {
  const Outgoing& keeper = kept(flow);
  const Time full = timeout(flow) << keeper.doublings;
  if (set_.probe_rtts == 0 || !rack_of(flow).may_probe()) {
    return full;
  }
  const std::int64_t flight = standing(flow).in_flight_bytes;
  return std::min(full,
                  rack_of(flow).probe_after(set_, std::cmp_less_equal(flight, set_.payload_bytes)));
}

template <class Transport>
void Endpoints<Transport>::note_departure(std::uint32_t flow, bool again) {
  Rack& rack = rack_of(flow);
  if (std::exchange(out_[flow].probe_due, false)) {
    rack.probe_sent = again ? net_.now : -1;
  } else if (!again) {
    rack.began_at = net_.now;  // RFC 8985, section 7.2
  }
}

template <class Transport>
void Endpoints<Transport>::judge_in_time(std::uint32_t flow, const Packet& packet, News& news) {
  Rack& rack = rack_of(flow);
  rack.on_answer(packet.sent, net_.now);
  news.lost_bytes += lose_overtaken(flow);
  if (news.acked_bytes != 0) {
    rack.probed = false;
    // Nothing was heard before the answer to a packet that was repeated: section 7.4.2.
    const bool repaired = std::exchange(rack.probe_sent, -1) == packet.sent;
    news.lost_bytes += repaired ? packet.payload_bytes : 0U;
  }
  const Ack now = standing(flow);
  rack.on_progress(news.lost_bytes != 0, now.acked_to, now.sent_to);
}

template <class Transport>
bool Endpoints<Transport>::is_unclear(std::uint32_t flow) const {
  if constexpr (requires { out_[flow].sender.repeats; }) {
    return out_[flow].sender.repeats || out_[flow].sender.has_gap();
  }
  return false;
}

template <class Transport>
void Endpoints<Transport>::restart_timer(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (set_.probe_rtts == 0) {
    out.deadline = net_.now + patience(flow);
    return;
  }
  rack_of(flow).began_at = net_.now;
  out.deadline = kNever;
  const Time judged_at = is_unclear(flow) ? reordering_ends(flow) : kNever;
  hasten(flow, std::min(net_.now + patience(flow), judged_at));
}

template <class Transport>
Time Endpoints<Transport>::reordering_ends(std::uint32_t flow) const {
  if constexpr (requires { transport_.oldest(out_[flow].sender, net_.now); }) {
    const Rack& rack = rack_of(flow);
    const Time base_rtt = kept(flow).line.base_rtt;
    if (set_.probe_rtts == 0 || rack.reordering(base_rtt) == 0) {
      return kNever;
    }
    const auto oldest = transport_.oldest(out_[flow].sender, net_.now);
    if (!oldest || oldest->age <= net_.now - rack.sent) {
      return kNever;
    }
    return net_.now + rack.lost_after(base_rtt, net_.now) - oldest->age + 1;
  }
  return kNever;
}

template <class Transport>
std::uint32_t Endpoints<Transport>::lose_overtaken(std::uint32_t flow) {
  std::uint32_t bytes = 0;
  if constexpr (requires { out_[flow].sender.repeats; }) {
    const Time most = rack_of(flow).lost_after(kept(flow).line.base_rtt, net_.now);
    const std::uint32_t last = connections_.shared() ? connections_.of(flow).sending : flow;
    std::uint32_t one = connections_.shared() ? connections_.of(flow).oldest : flow;
    for (;; one = out_[one].after) {
      Outgoing& out = out_[one];
      // What a message sends once leaves in order: if its first packet was not overtaken, none was.
      if (out.state != State::kDone && transport_.is_waiting(out.sender) &&
          (is_unclear(one) ||
           transport_.first_age(out.sender, net_.now) > net_.now - rack_of(flow).sent)) {
        bytes += transport_.lose_older(out.sender, extent(one), most, net_.now);
        if (connections_.shared()) {
          settle(one);
        }
        hasten(one, reordering_ends(one));
      }
      if (one == last) {
        return bytes;
      }
    }
  }
  return bytes;
}

template <class Transport>
void Endpoints<Transport>::hasten(std::uint32_t flow, Time when) {
  Outgoing& out = out_[flow];
  if (when >= out.deadline) {
    return;
  }
  out.deadline = when;
  if (when < out.timeout_at) {
    out.timeout_at = kNever;  // the event that was set comes too late
    expect_answer(flow);
  }
}

template <class Transport>
bool Endpoints<Transport>::bears_silence(std::uint32_t flow) {
  if (set_.probe_rtts == 0) {
    return false;
  }
  if (const std::uint32_t lost_bytes = lose_overtaken(flow); lost_bytes != 0) {
    const Ack now = standing(flow);
    rack_of(flow).on_progress(true, now.acked_to, now.sent_to);
    kept(flow).allowed =
        control_->on_loss(connections_.keeper(flow), kept(flow).line, net_.now, lost_bytes);
    expect_answer(flow);
    go_on(flow);
    return true;
  }
  const Time due = std::min(rack_of(flow).began_at + patience(flow), reordering_ends(flow));
  if (due > net_.now) {
    out_[flow].deadline = due;
    expect_answer(flow);
    return true;
  }
  if (!rack_of(flow).may_probe()) {
    return false;
  }
  probe(flow);
  return true;
}

template <class Transport>
void Endpoints<Transport>::probe(std::uint32_t flow) {
  rack_of(flow).probed = true;
  ++net_.counters.probes;
  const std::uint32_t newest = newest_of(flow);
  if constexpr (requires { transport_.repeat_last(out_[newest].sender, extent(newest)); }) {
    Outgoing& out = out_[newest];
    if (!transport_.has_work(out.sender, extent(newest)) ||
        std::cmp_greater_equal(standing(newest).in_flight_bytes, out.window)) {
      transport_.repeat_last(out.sender, extent(newest));
      if (connections_.shared()) {
        settle(newest);
      }
    }
    out.probe_due = true;
  }
  expect_answer(flow);
  offer(newest);
}

template <class Transport>
std::uint32_t Endpoints<Transport>::newest_of(std::uint32_t flow) const {
  if (!connections_.shared()) {
    return flow;
  }
  const Connection& all = connections_.of(flow);
  std::uint32_t newest = flow;
  for (std::uint32_t one = all.oldest;; one = out_[one].after) {
    const Outgoing& out = out_[one];
    const bool sends = one == all.sending && transport_.has_work(out.sender, extent(one));
    if (out.state != State::kDone && (sends || transport_.is_waiting(out.sender))) {
      newest = one;
    }
    if (one == all.sending) {
      return newest;
    }
  }
}

template <class Transport>
void Endpoints<Transport>::lose_all(std::uint32_t flow) {
  if (!connections_.shared()) {
    transport_.on_timeout(out_[flow].sender, extent(flow));
    return;
  }
  // A socket has one timer (RFC 6298, section 5); other transports time each message.
  const bool whole = set_.probe_rtts != 0;
  const std::uint32_t last = whole ? connections_.of(flow).sending : flow;
  for (std::uint32_t one = whole ? connections_.of(flow).oldest : flow;; one = out_[one].after) {
    if (one == flow ||
        (out_[one].state != State::kDone && transport_.is_waiting(out_[one].sender))) {
      transport_.on_timeout(out_[one].sender, extent(one));
      settle(one);
    }
    if (one == last) {
      return;
    }
  }
}

}  // namespace netloom::packet
