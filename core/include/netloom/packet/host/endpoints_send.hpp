// Endpoints as senders: which flow may send, when, and what it sends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/endpoints.hpp"

namespace netloom::packet {

template <class Transport>
void Endpoints<Transport>::start(std::uint32_t flow) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  const auto source = static_cast<std::uint32_t>(work.source[flow]);
  const auto target = static_cast<std::uint32_t>(work.target[flow]);
  progress_.started(flow);
  out.link = door(source, target, flow, work.entropy[flow]);
  out.local = progress_.local(flow);
  out.many = several_ && spray_.sprays() && net_.ways(source, target).size() > 1;
  out.line = line_of(flow);
  out.window = out.local ? ~std::uint64_t{0} : window_of(out.line);
  transport_.open(out.sender);
  if constexpr (Transport::kPulls) {
    // What it is not needed for at first does not repeat anything later: that is pulled.
    out.sender.granted_bytes = std::min(first_window(out.line), extent(flow).size_bytes);
  }
  out.state = State::kIdle;
  if (!connections_.shared() || !join(flow)) {
    out.allowed = control_->start(flow, out.line, net_.now);
    spray_.begin(flow, net_.random);
  }
  go_on(flow);
}

template <class Transport>
double Endpoints<Transport>::most_bps(std::uint32_t link, bool local) const {
  const auto rate_bps = static_cast<double>(net_.ports[link].rate_bps);
  return set_.host_rate_bps > 0 && !local ? std::min(rate_bps, set_.host_rate_bps) : rate_bps;
}

template <class Transport>
double Endpoints<Transport>::all_bps(std::uint32_t from, std::uint32_t to, bool local) const {
  double total_bps = 0.0;
  for (const std::int32_t link : net_.ways(from, to)) {
    total_bps += most_bps(static_cast<std::uint32_t>(link), local);
  }
  return total_bps;
}

template <class Transport>
Line Endpoints<Transport>::line_of(std::uint32_t flow) const {
  const Outgoing& out = out_[flow];
  const auto source = static_cast<std::uint32_t>(net_.config.work.source[flow]);
  const auto target = static_cast<std::uint32_t>(net_.config.work.target[flow]);
  const Port& port = net_.ports[out.link];
  const bool shares_nic = port.uncontrolled && !out.local;
  return {
      .rate_bps = out.many ? all_bps(source, target, out.local) : most_bps(out.link, out.local),
      .base_rtt = set_.base_rtt_ps != 0 ? set_.base_rtt_ps : net_.base_rtt(source, target),
      .payload_bytes = set_.payload_bytes,
      .packet_bytes = set_.payload_bytes + set_.header_bytes,
      .trims = net_.config.link_control == "trimming",
      .nic_ps = shares_nic
                    ? static_cast<std::uint32_t>(port.flight_ps + port.time_of(set_.payload_bytes))
                    : 0U,
  };
}

template <class Transport>
double Endpoints<Transport>::product(const Line& line) {
  return line.rate_bps * static_cast<double>(line.base_rtt) / static_cast<double>(kBitPs);
}

template <class Transport>
std::uint64_t Endpoints<Transport>::window_of(const Line& line) const {
  std::uint64_t window = set_.window_bytes != 0 ? set_.window_bytes : ~std::uint64_t{0};
  if (set_.window_bdp > 0) {
    const double bytes = std::max(set_.window_bdp * product(line), 1.0);
    window = std::min(window, static_cast<std::uint64_t>(bytes));
  }
  return window;
}

template <class Transport>
std::uint64_t Endpoints<Transport>::first_window(const Line& line) const {
  return set_.first_window_bytes != 0 ? set_.first_window_bytes
                                      : static_cast<std::uint64_t>(1.5 * product(line));
}

template <class Transport>
bool Endpoints<Transport>::may_send(std::uint32_t flow) const {
  const Outgoing& out = out_[flow];
  if (out.behind || !transport_.has_work(out.sender, extent(flow))) {
    return false;
  }
  auto flight = static_cast<std::int64_t>(transport_.in_flight(out.sender, extent(flow)));
  if (connections_.shared()) [[unlikely]] {
    flight += flight_of_others(flow);
  }
  const std::uint64_t window =
      out.local ? out.window : std::min(kept(flow).allowed.window_bytes, out.window);
  return std::cmp_less(flight, window) || out.probe_due;
}

template <class Transport>
void Endpoints<Transport>::offer(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  if (out.state != State::kIdle) {
    return;
  }
  if (!may_send(flow)) {
    ask_later(flow);
    return;
  }
  if (awaits_pace(flow)) {
    return;
  }
  if (several_) [[unlikely]] {
    if (out.many) {
      send_over_ports(flow);
      return;
    }
    const Work& work = net_.config.work;
    out.link = door(static_cast<std::uint32_t>(work.source[flow]),
                    static_cast<std::uint32_t>(work.target[flow]),
                    flow,
                    work.entropy[flow]);
  }
  out.state = State::kReady;
  ready_.append(out.link, net_.config.work.lane[flow], flow);
  kick(out.link);
}

template <class Transport>
bool Endpoints<Transport>::awaits_pace(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  const Time pace_at = kept(flow).pace_at;
  if (pace_at <= net_.now || (!out.many && pace_at <= net_.port(out.link).busy_until)) {
    return false;
  }
  out.state = State::kPaced;
  out.alarm_at = pace_at;
  net_.events.push(pace_at, Kind::kReady, flow);
  return true;
}

template <class Transport>
void Endpoints<Transport>::ring(std::uint32_t flow, Time when) {
  if (out_[flow].state == State::kPaced && out_[flow].alarm_at == when) {
    out_[flow].state = State::kIdle;
    offer(flow);
  }
}

template <class Transport>
void Endpoints<Transport>::kick(std::uint32_t link) {
  if (net_.port(link).awake || kicking_) {
    return;
  }
  kicking_ = true;
  wake(link);
  kicking_ = false;
}

template <class Transport>
void Endpoints<Transport>::send_ready(std::uint32_t link) {
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
    if (out_[flow].many) [[unlikely]] {
      send_over_ports(flow);
      return;
    }
    // Another message of its connection may have sent since it stood in line.
    if (!may_send(flow)) {
      ask_later(flow);
    } else if (!connections_.shared() || !awaits_pace(flow)) {
      send(flow);
      return;
    }
  }
}

template <class Transport>
void Endpoints<Transport>::send(std::uint32_t flow) {
  Outgoing& out = out_[flow];
  const Segment segment = transport_.take(out.sender, extent(flow));
  const Index index = make_data(flow, segment);
  const std::uint32_t size_bytes = net_.pool[index].size_bytes;
  ++net_.counters.data_packets;
  net_.counters.retransmissions += segment.again ? 1U : 0U;
  if (ask(flow, segment)) {
    net_.pool[index].flags |= kAsks;
  }
  if constexpr (requires { transport_.depart(out.sender, net_.pool[index]); }) {
    transport_.depart(out.sender, net_.pool[index]);
  }
  if (out.many) [[unlikely]] {
    dispatch(out.link, index);
  } else {
    net_.launch(out.link, index);
  }
  software_.push(out.link, flow, size_bytes);
  Outgoing& keeper = kept(flow);
  if (set_.probe_rtts != 0) {
    note_departure(flow, segment.again);
  }
  if (control_->reactions().departures) {
    keeper.allowed =
        control_->on_sent(connections_.keeper(flow), keeper.line, net_.now, segment.payload_bytes);
  }
  pace(out, keeper, size_bytes + set_.gap_bytes);
  if (set_.ask_every_packets == 0 &&
      std::cmp_less_equal(transport_.in_flight(out.sender, extent(flow)), set_.payload_bytes)) {
    out.deadline = kNever;  // nothing else is out: its time begins now
  }
  if (awaits_answer(flow)) {
    expect_answer(flow);
  }
  arm(connections_.keeper(flow));
  if (connections_.shared()) [[unlikely]] {
    connections_.of(flow).sent_at = net_.now;
    settle(flow);
    let_next_send(flow);
  }
  if (!out.many && may_send(flow) && !awaits_pace(flow)) {
    out.state = State::kReady;
    ready_.append_after_sending(out.link, net_.config.work.lane[flow], flow);
  }
}

template <class Transport>
bool Endpoints<Transport>::ask(std::uint32_t flow, const Segment& segment) {
  const bool must = !may_send(flow) || segment.again;  // uet-htsim: every repetition asks
  if (set_.ask_every_packets == 0) {
    return must;
  }
  Outgoing& out = out_[flow];
  const std::uint64_t sent_to = transport_.sent_to(out.sender, extent(flow));
  if (!must && sent_to < out.asked_to + most_unasked(flow)) {
    return false;
  }
  if (!awaits_answer(flow)) {
    out.deadline = kNever;  // its time begins now
  }
  out.asked_to = std::max(out.asked_to, sent_to);
  return true;
}

template <class Transport>
std::uint64_t Endpoints<Transport>::most_unasked(std::uint32_t flow) const {
  const Outgoing& keeper = kept(flow);
  if (std::min(keeper.allowed.window_bytes, out_[flow].window) != cc::kNoWindow) {
    return 0;  // what is not answered would hold the window
  }
  const std::uint64_t most = std::uint64_t{set_.ask_every_packets} * set_.payload_bytes;
  if (set_.asks_per_rtt == 0) {
    return most;
  }
  const double share = std::min(1.0, keeper.allowed.rate_bps / keeper.line.rate_bps);
  const double round = product(keeper.line) * share;
  return std::min(most, static_cast<std::uint64_t>(round / set_.asks_per_rtt));
}

template <class Transport>
void Endpoints<Transport>::pace(const Outgoing& out, Outgoing& keeper, std::uint32_t wire_bytes) {
  if (out.local) {
    return;
  }
  const double rate_bps = keeper.allowed.rate_bps;
  const Port& port = net_.port(out.link);
  const double line_bps = out.many ? out.line.rate_bps : static_cast<double>(port.rate_bps);
  const Time free_at = out.many ? net_.now : port.busy_until;
  keeper.pace_at = rate_bps < line_bps ? net_.now + spread_over(wire_bytes, rate_bps) : free_at;
  keeper.paced_bytes = static_cast<std::uint16_t>(wire_bytes);
}

template <class Transport>
void Endpoints<Transport>::move_departure(std::uint32_t flow, Outgoing& keeper, double old_bps) {
  const double new_bps = keeper.allowed.rate_bps;
  if (new_bps == old_bps || keeper.local) {
    return;
  }
  const std::uint32_t bytes = keeper.paced_bytes;
  keeper.pace_at += spread_over(bytes, new_bps) - spread_over(bytes, old_bps);
  for (const std::uint32_t one :
       {flow, connections_.shared() ? connections_.of(flow).sending : flow}) {
    if (out_[one].state == State::kPaced && new_bps > old_bps) {
      out_[one].state = State::kIdle;  // its alarm would ring too late: the next offer sets another
    }
  }
}

template <class Transport>
Time Endpoints<Transport>::spread_over(std::uint32_t wire_bytes, double rate_bps) {
  return static_cast<Time>(wire_bytes * static_cast<double>(kBitPs) / rate_bps);
}

template <class Transport>
std::uint64_t Endpoints<Transport>::asked(std::uint32_t flow) const {
  if constexpr (Transport::kPulls) {
    const Outgoing& out = out_[flow];
    // Its own window and a packet, if that is less (uet-htsim computePullTarget).
    const std::uint64_t most = first_window(out.line);
    const std::uint64_t own = std::min(most, out.allowed.window_bytes) + set_.payload_bytes;
    const std::uint32_t sharers = out.many ? 1 : 1 + ready_.size(out.link);
    return transport_.demand(
        out.sender, extent(flow), {.window_bytes = std::min(most, own), .sharers = sharers});
  } else {
    return 0;
  }
}

template <class Transport>
Index Endpoints<Transport>::make_data(std::uint32_t flow, const Segment& segment) {
  const Work& work = net_.config.work;
  Outgoing& out = out_[flow];
  const Index index = net_.pool.take();
  if (net_.config.switches.telemetry && net_.telemetry.size() < net_.pool.capacity() * kMaxHops) {
    net_.telemetry.resize(2 * net_.pool.capacity() * kMaxHops);
  }
  Packet& packet = net_.pool[index];
  out.last_entropy = out.drawn
                         ? out.next_entropy
                         : spray_.next(connections_.keeper(flow), work.entropy[flow], net_.random);
  out.drawn = false;
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
