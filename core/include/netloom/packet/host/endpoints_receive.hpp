// Endpoints as receivers: what arrives, what is answered, what is asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
void Endpoints<Transport>::receive(std::uint32_t link, Index index) {
  const Packet& packet = net_.pool[index];
  const std::uint32_t flow = packet.flow;
  Incoming& in = in_[flow];
  if (!in.open) {
    open(flow, packet);
  }
  if (several_) [[unlikely]] {
    answer_by(link ^ 1U, packet);
  }
  if constexpr (Transport::kPulls) {
    pulls_.note(packet);
  }
  const bool whole = (packet.flags & kTrimmed) == 0;
  const std::uint32_t whole_bytes = whole ? packet.size_bytes : 0U;
  net_.counters.delivered_packets += whole ? 1U : 0U;
  const Receipt receipt = in.complete
                              ? Receipt{.reply = whole ? Reply::kAck : Reply::kNothing}
                              : transport_.on_data(in.receiver, extent(flow), packet, net_.now);
  net_.counters.delivered_bytes += receipt.new_bytes;
  net_.counters.reordered += receipt.disordered ? 1U : 0U;
  net_.counters.duplicates += whole && receipt.new_bytes == 0 && !receipt.disordered ? 1U : 0U;
  const bool upset = receipt.disordered && set_.punish_disorder && receipt.reply == Reply::kNack;
  if (set_.cnp_interval_ps != 0 &&
      ((packet.flags & kMarked) != 0 || upset || in_[connections_.keeper(flow)].owes_notice)) {
    notify(flow, packet);
  }
  if (!in.complete && transport_.complete(in.receiver, extent(flow))) {
    in.complete = true;
    progress_.arrived(flow);
  }
  in.unanswered_bytes += whole_bytes;  // a notice may have moved the packet
  reply(link, index, receipt.reply);
  if constexpr (Transport::kPulls) {
    want_more(flow, link);
  }
}

template <class Transport>
void Endpoints<Transport>::open(std::uint32_t flow, const Packet& packet) {
  Incoming& in = in_[flow];
  in.open = true;
  in.link = door(packet.target, packet.source, flow, packet.entropy);
  transport_.open(in.receiver);
  if constexpr (Transport::kPulls) {
    in.receiver.granted_bytes = out_[flow].sender.granted_bytes;
  }
}

template <class Transport>
void Endpoints<Transport>::answer_by(std::uint32_t link, const Packet& packet) {
  in_[packet.flow].link =
      net_.ports[link].up ? link : door(packet.target, packet.source, packet.flow, packet.entropy);
}

template <class Transport>
void Endpoints<Transport>::reply(std::uint32_t /*link*/, Index index, Reply kind) {
  Packet& packet = net_.pool[index];
  Incoming& in = in_[packet.flow];
  const bool asks = (packet.flags & kAsks) != 0;
  in.asked |= asks;
  in.seen_to = kind == Reply::kMaybe ? std::max(in.seen_to, packet.number + 1) : in.seen_to;
  // Once nothing is missing another answer tells what came late (uet-htsim _ack_request).
  const bool caught_up = in.asked && transport_.has_before(in.receiver, in.seen_to);
  in.asked &= !caught_up;
  const bool due_unasked =
      set_.ask_every_packets == 0 && (in.unanswered_bytes >= set_.ack_every_bytes || !in.answered ||
                                      (packet.flags & kMarked) != 0);
  const bool due = due_unasked || in.complete || asks || caught_up;
  if (kind == Reply::kNothing || (kind == Reply::kMaybe && !due)) {
    net_.pool.give_back(index);
    return;
  }
  in.unanswered_bytes = kind == Reply::kNack ? in.unanswered_bytes : 0;
  in.answered |= kind != Reply::kNack;
  std::swap(packet.source, packet.target);
  const Form tells = packet.form == Form::kAsk ? Form::kTold : Form::kAck;
  packet.form = kind == Reply::kNack ? Form::kNack : tells;
  packet.size_bytes = static_cast<std::uint16_t>(set_.ack_bytes);
  packet.lane = set_.ack_on_data_lane ? net_.config.work.lane[packet.flow] : kControl;
  // Of a packet that had come before, the mark alone matters (uet-htsim processData).
  packet.flags &=
      static_cast<std::uint8_t>(kMarked | kAtLastHop | (kind == Reply::kMaybe ? kAsks : 0));
  if (in.complete) {  // its books are closed: all of it has arrived
    packet.offset = transport_.end_of(extent(packet.flow));
    packet.bits = 0;
  } else {
    transport_.report(in.receiver, packet);
  }
  if (in.complete && !std::exchange(in.closed, true)) {
    transport_.close(in.receiver);
  }
  dispatch(in.link, index);
}

template <class Transport>
void Endpoints<Transport>::notify(std::uint32_t flow, const Packet& cause) {
  Incoming& in = in_[connections_.keeper(flow)];
  in.owes_notice = in.notified_at >= 0 && net_.now - in.notified_at < set_.cnp_interval_ps;
  if (in.owes_notice) {  // told when the interval is over: Zhu et al. 2015, htsim DCQCNSink
    return;
  }
  in.notified_at = net_.now;
  ++net_.counters.notifications;
  send_control(flow, cause, {.form = Form::kCnp, .size_bytes = set_.cnp_bytes, .bits = 0});
}

template <class Transport>
void Endpoints<Transport>::send_control(std::uint32_t flow, const Packet& cause, Control control) {
  const Packet like = cause;
  const Index index = net_.pool.take();
  net_.pool[index] = like;
  Packet& packet = net_.pool[index];
  const Work& work = net_.config.work;
  packet.source = static_cast<std::uint32_t>(work.target[flow]);
  packet.target = static_cast<std::uint32_t>(work.source[flow]);
  packet.form = control.form;
  packet.size_bytes = static_cast<std::uint16_t>(control.size_bytes);
  packet.bits = control.bits;
  packet.flags = 0;
  packet.num_hops = 0;
  const bool first = set_.cnp_first && control.form == Form::kCnp;
  packet.lane = set_.ack_on_data_lane && !first ? work.lane[flow] : kControl;
  dispatch(in_[flow].link, index);
}

template <class Transport>
void Endpoints<Transport>::dispatch(std::uint32_t link, Index index) {
  const Port& port = net_.port(link);
  const std::uint8_t lane = net_.pool[index].lane;
  const bool free = port.busy_until <= net_.now && port.waiting == 0 && port.up;
  if (free && ((port.paused >> lane) & 1U) == 0) {
    net_.launch(link, index);
    if (pending(link) != 0) {
      net_.wake_later(link);
    }
    return;
  }
  net_.append(link, index);
  if (pending(link) != 0) {
    net_.wake_later(link);
  }
}

template <class Transport>
void Endpoints<Transport>::want_more(std::uint32_t flow, std::uint32_t link) {
  if constexpr (Transport::kPulls) {
    const auto& receiver = in_[flow].receiver;
    if (!in_[flow].complete && receiver.granted_bytes < receiver.wanted_bytes()) {
      pulls_.ask(net_.port(link).target, flow);
    }
  }
}

template <class Transport>
void Endpoints<Transport>::pull(std::uint32_t endpoint) {
  if constexpr (Transport::kPulls) {
    const std::uint32_t asking = pulls_.take(endpoint);
    const std::uint32_t flow = asking != kNone ? asking : pulls_.take_resting(endpoint);
    if (flow == kNone || in_[flow].complete) {
      pulls_.done(endpoint, net_.now);
      return;
    }
    auto& receiver = in_[flow].receiver;
    const bool asked = receiver.granted_bytes < receiver.wanted_bytes();
    const std::uint64_t most =
        asked ? receiver.wanted_bytes() - receiver.granted_bytes : ~std::uint64_t{0};
    const std::uint64_t more = std::min<std::uint64_t>(set_.pull_bytes, most);
    receiver.granted_bytes += more;
    send_pull(flow);
    pulls_.done(endpoint, net_.now + pull_time(flow, more));
    if (receiver.granted_bytes < receiver.wanted_bytes()) {
      pulls_.ask(endpoint, flow);
    } else if (set_.first_window_lapses &&
               receiver.granted_bytes < receiver.wanted_bytes() + first_window(out_[flow].line)) {
      pulls_.rest(endpoint, flow);  // uet-htsim UecPullPacer: slow pulls
    }
  }
}

template <class Transport>
void Endpoints<Transport>::send_pull(std::uint32_t flow) {
  if constexpr (Transport::kPulls) {
    Packet cause{};
    cause.flow = flow;
    cause.entropy = net_.config.work.entropy[flow];
    const std::uint64_t granted_bytes = in_[flow].receiver.granted_bytes;
    send_control(
        flow, cause, {.form = Form::kPull, .size_bytes = set_.ack_bytes, .bits = granted_bytes});
  }
}

template <class Transport>
Time Endpoints<Transport>::pull_time(std::uint32_t flow, std::uint64_t bytes) {
  const std::uint64_t packets = (bytes + set_.payload_bytes - 1) / set_.payload_bytes;
  const std::uint64_t wire = bytes + packets * (set_.header_bytes + set_.gap_bytes);
  const Port& port = net_.port(in_[flow].link ^ 1U);
  const Time takes = port.time_of(static_cast<std::int64_t>(wire));
  const Work& work = net_.config.work;
  const auto endpoint = static_cast<std::uint32_t>(work.target[flow]);
  const double ports =
      !out_[flow].many
          ? 1.0
          : all_bps(endpoint, static_cast<std::uint32_t>(work.source[flow]), out_[flow].local) /
                static_cast<double>(port.rate_bps);
  const double share = set_.pull_share * pulls_.share(endpoint);
  return static_cast<Time>(static_cast<double>(takes) / (share * ports));
}

}  // namespace netloom::packet
