// Endpoints as senders: which flow may send, when, and what it sends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/endpoints.hpp"

namespace netloom::packet {

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::start(std::uint32_t flow) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  const auto source = static_cast<std::uint32_t>(work.source[flow]);
  const auto target = static_cast<std::uint32_t>(work.target[flow]);
  progress_.started(flow);
  out.link = door(source, target, work.entropy[flow]);
  out.local = progress_.local(flow);
  out.line = line_of(source, target, out.link);
  if (set_.host_rate_bps > 0 && !out.local) {
    out.line.rate_bps = std::min(out.line.rate_bps, set_.host_rate_bps);
  }
  out.cc = Cc::make(cc_settings_, out.line, net_.now);
  out.window = out.local ? ~std::uint64_t{0} : window_of(out.line);
  transport_.open(out.sender);
  if constexpr (Transport::kPulls) {
    // What it is not needed for at first does not repeat anything later: that is pulled.
    out.sender.granted_bytes = std::min(first_window(out.line), extent(flow).size_bytes);
  }
  spray_.begin(flow, net_.random);
  out.state = State::kIdle;
  arm(flow);
  offer(flow);
}

template <class Transport, class Cc>
Line Endpoints<Transport, Cc>::line_of(std::uint32_t source,
                                       std::uint32_t target,
                                       std::uint32_t link) const {
  return {
      .rate_bps = static_cast<double>(net_.ports[link].rate_bps),
      .base_rtt = set_.base_rtt_ps != 0 ? set_.base_rtt_ps : net_.base_rtt(source, target),
      .payload_bytes = set_.payload_bytes,
      .packet_bytes = set_.payload_bytes + set_.header_bytes,
      .trims = net_.config.link_control == "trimming",
  };
}

template <class Transport, class Cc>
double Endpoints<Transport, Cc>::product(const Line& line) {
  return line.rate_bps * static_cast<double>(line.base_rtt) / static_cast<double>(kBitPs);
}

template <class Transport, class Cc>
std::uint64_t Endpoints<Transport, Cc>::window_of(const Line& line) const {
  std::uint64_t window = set_.window_bytes != 0 ? set_.window_bytes : ~std::uint64_t{0};
  if (set_.window_bdp > 0) {
    const double bytes = std::max(set_.window_bdp * product(line), 1.0);
    window = std::min(window, static_cast<std::uint64_t>(bytes));
  }
  return window;
}

template <class Transport, class Cc>
std::uint64_t Endpoints<Transport, Cc>::first_window(const Line& line) const {
  return set_.first_window_bytes != 0 ? set_.first_window_bytes
                                      : static_cast<std::uint64_t>(1.5 * product(line));
}

template <class Transport, class Cc>
bool Endpoints<Transport, Cc>::may_send(std::uint32_t flow) const {
  const Outgoing& out = out_[flow];
  return transport_.has_work(out.sender, extent(flow)) &&
         std::cmp_less(transport_.in_flight(out.sender, extent(flow)),
                       out.local ? out.window : std::min(out.cc.window_bytes(), out.window));
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::offer(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (out.state != State::kIdle || !may_send(flow) || awaits_pace(flow)) {
    return;
  }
  out.state = State::kReady;
  ready_.append(out.link, net_.config.work.lane[flow], flow);
  kick(out.link);
}

template <class Transport, class Cc>
bool Endpoints<Transport, Cc>::awaits_pace(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (out.pace_at <= net_.now || out.pace_at <= net_.port(out.link).busy_until) {
    return false;
  }
  out.state = State::kPaced;
  out.alarm_at = out.pace_at;
  net_.events.push(out.pace_at, Kind::kReady, flow);
  return true;
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::ring(std::uint32_t flow, Time when) {
  if (out_[flow].state == State::kPaced && out_[flow].alarm_at == when) {
    out_[flow].state = State::kIdle;
    offer(flow);
  }
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::kick(std::uint32_t link) {
  if (net_.port(link).awake || kicking_) {
    return;
  }
  kicking_ = true;
  wake(link);
  kicking_ = false;
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::send_ready(std::uint32_t link) {
  while (true) {
    const auto able = static_cast<std::uint16_t>(ready_.lanes(link) & ~net_.port(link).paused);
    if (able == 0) {
      return;
    }
    const std::uint32_t flow = ready_.take(link, lane_of(link, able));
    if (out_[flow].state == State::kDone) {
      continue;
    }
    out_[flow].state = State::kIdle;
    if (may_send(flow)) {
      send(flow);
      return;
    }
  }
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::send(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  const Segment segment = transport_.take(out.sender, extent(flow));
  const Index index = make_data(flow, segment);
  const std::uint32_t size_bytes = net_.pool[index].size_bytes;
  ++net_.counters.data_packets;
  net_.counters.retransmissions += segment.again ? 1U : 0U;
  if (!may_send(flow) || segment.again) {  // uet-htsim: every repetition asks
    net_.pool[index].flags |= kAsks;
  }
  if constexpr (requires { transport_.depart(out.sender, net_.pool[index]); }) {
    transport_.depart(out.sender, net_.pool[index]);
  }
  net_.launch(out.link, index);
  software_.push(out.link, flow, size_bytes);
  out.cc.on_sent(cc_settings_, out.line, net_.now, segment.payload_bytes);
  pace(out, size_bytes + set_.gap_bytes);
  if (std::cmp_less_equal(transport_.in_flight(out.sender, extent(flow)), set_.payload_bytes)) {
    out.deadline = kNever;  // nothing else is out: its time begins now
  }
  expect_answer(flow);
  arm(flow);
  if (may_send(flow) && !awaits_pace(flow)) {
    out.state = State::kReady;
    ready_.append_after_sending(out.link, net_.config.work.lane[flow], flow);
  }
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::pace(Outgoing& out, std::uint32_t wire_bytes) {
  if (out.local) {
    return;
  }
  const double rate_bps = out.cc.rate_bps();
  const Port& port = net_.port(out.link);
  out.pace_at = rate_bps < static_cast<double>(port.rate_bps)
                    ? net_.now + spread_over(wire_bytes, rate_bps)
                    : port.busy_until;
  out.paced_bytes = static_cast<std::uint16_t>(wire_bytes);
}

template <class Transport, class Cc>
void Endpoints<Transport, Cc>::move_departure(Outgoing& out, double old_bps) {
  const double new_bps = out.cc.rate_bps();
  if (new_bps == old_bps || out.local) {
    return;
  }
  out.pace_at += spread_over(out.paced_bytes, new_bps) - spread_over(out.paced_bytes, old_bps);
  if (out.state == State::kPaced && new_bps > old_bps) {
    out.state = State::kIdle;  // its alarm would ring too late: the next offer sets another
  }
}

template <class Transport, class Cc>
Time Endpoints<Transport, Cc>::spread_over(std::uint32_t wire_bytes, double rate_bps) {
  return static_cast<Time>(wire_bytes * static_cast<double>(kBitPs) / rate_bps);
}

template <class Transport, class Cc>
std::uint64_t Endpoints<Transport, Cc>::asked(std::uint32_t flow) const {
  if constexpr (Transport::kPulls) {
    return transport_.demand(out_[flow].sender, extent(flow));
  } else {
    return 0;
  }
}

template <class Transport, class Cc>
Index Endpoints<Transport, Cc>::make_data(std::uint32_t flow, const Segment& segment) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  const Index index = net_.pool.take();
  if (net_.config.switches.telemetry && net_.telemetry.size() < net_.pool.capacity() * kMaxHops) {
    net_.telemetry.resize(2 * net_.pool.capacity() * kMaxHops);
  }
  Packet& packet = net_.pool[index];
  out.last_entropy = spray_.next(flow, work.entropy[flow], net_.random);
  const bool last = segment.offset + segment.payload_bytes == extent(flow).size_bytes;
  packet = {
      .sent = net_.now,
      .offset = segment.offset,
      .bits = asked(flow),
      .flow = flow,
      .source = static_cast<std::uint32_t>(work.source[flow]),
      .target = static_cast<std::uint32_t>(work.target[flow]),
      .next = kNone,
      .came_by = kNone,
      .number = segment.number,
      .gap_low = 0,
      .gap_high = 0,
      .size_bytes = static_cast<std::uint16_t>(
          std::max(segment.payload_bytes + set_.header_bytes, set_.least_bytes)),
      .payload_bytes = static_cast<std::uint16_t>(segment.payload_bytes),
      .entropy = out.last_entropy,
      .lane = work.lane[flow],
      .form = Form::kData,
      .flags = static_cast<std::uint8_t>((last ? kLast : 0) | (segment.again ? kAgain : 0)),
      .num_hops = 0,
  };
  return index;
}

}  // namespace netloom::packet
