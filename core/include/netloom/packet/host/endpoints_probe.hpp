// Endpoints as senders that ask what has come, and receivers that tell them.
//
// Where one answer stands for several packets, a packet that leaves a sender room for more does not
// ask for an answer. If the window then closes behind it (marks, trims, quick adapt) and no packet
// follows, what has come stays untold, and the window closed, until a timeout. A control packet
// asks instead: the probe of UET (specification 1.0.1, table 3-38: requests an acknowledgement;
// secondary), at the times of uet-htsim's (uec.cpp sendProbe, which it has where SLEEK is on).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
void Endpoints<Transport>::hear(std::uint32_t flow, const Packet& answer) {
  if (answer.form != Form::kTold) {  // else it is about no path
    const bool marked = (answer.flags & kMarked) != 0;
    spray_.on_ack(connections_.keeper(flow), answer.entropy, marked, net_.now);
  }
  if constexpr (requires { out_[flow].sender.ask_at; }) {
    if (set_.ask_rtts > 0) {
      out_[flow].sender.ask_at = net_.now + round_trips(flow, set_.ask_rtts);
    }
  }
}

template <class Transport>
void Endpoints<Transport>::measure(std::uint32_t flow, Time rtt) {
  if constexpr (requires { out_[flow].sender.mean_rtt; }) {
    auto& sender = kept(flow).sender;
    const bool first = sender.mean_rtt == 0;
    const Time off = std::abs(rtt - sender.mean_rtt);
    sender.rtt_spread = first ? rtt / 2 : (3 * sender.rtt_spread + off) / 4;
    sender.mean_rtt = first ? rtt : (7 * sender.mean_rtt + rtt) / 8;
  }
}

template <class Transport>
Time Endpoints<Transport>::patience_of_each(std::uint32_t flow) const {
  if constexpr (requires { out_[flow].sender.mean_rtt; }) {
    const auto& sender = kept(flow).sender;
    return std::max(timeout(flow), sender.mean_rtt + 4 * sender.rtt_spread);
  } else {
    return timeout(flow);
  }
}

template <class Transport>
void Endpoints<Transport>::ask_later(std::uint32_t flow) {
  if constexpr (requires { transport_.waits_unasked(out_[flow].sender); }) {
    Outgoing& out = out_[flow];
    const bool asks = set_.ask_rtts > 0 && set_.timeout_ps > 0 && times_each();
    if (asks && out.sender.ask_at < out.timeout_at && transport_.waits_unasked(out.sender)) {
      out.timeout_at = std::max(out.sender.ask_at, net_.now);  // the alarm that was set is too late
      net_.events.push(out.timeout_at, Kind::kTimeout, flow);
    }
  }
}

template <class Transport>
void Endpoints<Transport>::ask_if_due(std::uint32_t flow) {
  if constexpr (requires { transport_.waits_unasked(out_[flow].sender); }) {
    constexpr double kAgainRtts = 5;  // uet-htsim probe_retry_time
    Outgoing& out = out_[flow];
    if (out.sender.ask_at > net_.now || may_send(flow) || !transport_.waits_unasked(out.sender)) {
      return;
    }
    out.sender.ask_at = net_.now + round_trips(flow, kAgainRtts);
    ++net_.counters.asks;
    const Work& work = net_.config.work;
    const Index index = net_.pool.take();
    Packet& packet = net_.pool[index];
    packet = {};
    packet.sent = net_.now;
    packet.flow = flow;
    packet.source = static_cast<std::uint32_t>(work.source[flow]);
    packet.target = static_cast<std::uint32_t>(work.target[flow]);
    packet.next = packet.came_by = kNone;
    packet.number = out.sender.next - 1;
    packet.size_bytes = static_cast<std::uint16_t>(set_.ack_bytes);
    packet.entropy = work.entropy[flow];
    packet.lane = set_.ack_on_data_lane ? work.lane[flow] : kControl;
    packet.form = Form::kAsk;
    dispatch(door(packet.source, packet.target, flow, packet.entropy), index);
  }
}

template <class Transport>
void Endpoints<Transport>::tell(std::uint32_t link, Index index) {
  const Packet& packet = net_.pool[index];
  if (!in_[packet.flow].open) {
    net_.pool.give_back(index);  // nothing has come that could be told
    return;
  }
  if (several_) [[unlikely]] {
    answer_by(link ^ 1U, packet);
  }
  reply(link, index, Reply::kAck);
}

template <class Transport>
Time Endpoints<Transport>::round_trips(std::uint32_t flow, double number) const {
  return static_cast<Time>(number * static_cast<double>(out_[flow].line.base_rtt));
}

}  // namespace netloom::packet
