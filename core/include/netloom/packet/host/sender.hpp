// Which flow may send, when, and what it sends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

template <class Transport>
class PortSpreader;
template <class Transport>
class MessageOrder;
template <class Transport>
class LossDetector;
template <class Transport>
class ReceiptProbe;

/// Which flow may send, when, and what it sends.
template <class Transport>
class Sender {
  using Outgoing = packet::Outgoing<Transport>;
  using State = FlowState;

 public:
  Sender(FlowTable<Transport>& flows,
         HostPorts& ports,
         PortSpreader<Transport>& spreader,
         MessageOrder<Transport>& messages,
         LossDetector<Transport>& losses,
         ReceiptProbe<Transport>& probe)
      : flows_(flows),
        net_(flows.net),
        set_(flows.set),
        ports_(ports),
        spreader_(spreader),
        messages_(messages),
        losses_(losses),
        probe_(probe) {}

  void start(std::uint32_t flow) {
    const Work& work = net_.config.work;
    Outgoing& out = flows_.out[flow];
    const auto source = static_cast<std::uint32_t>(work.source[flow]);
    const auto target = static_cast<std::uint32_t>(work.target[flow]);
    flows_.progress.started(flow);
    out.link = ports_.port_to(source, target, flow, work.entropy[flow]);
    out.local = flows_.progress.local(flow);
    out.many = ports_.several && flows_.spray.sprays() && net_.ways(source, target).size() > 1;
    out.line = line_of(flow);
    out.window = out.local ? ~std::uint64_t{0} : window_of(out.line);
    flows_.transport.open(out.sender);
    if constexpr (Transport::kPulls) {
      // What it is not needed for at first does not repeat anything later: that is pulled.
      out.sender.granted_bytes =
          std::min(flows_.first_window(out.line), flows_.extent(flow).size_bytes);
    }
    out.state = State::kIdle;
    if (!flows_.connections.shared() || !messages_.join(flow)) {
      out.allowed = flows_.control->start(flow, out.line, net_.now);
      flows_.spray.begin(flow, net_.random_at(out.link));
    }
    resume(flow);
  }

  /// Sends what a signal that a flow heard may have allowed, it or other messages.
  void resume(std::uint32_t flow) {
    if (flows_.connections.shared()) [[unlikely]] {
      messages_.resume_all(flow);
      return;
    }
    arm(flow);
    offer(flow);
  }

  void on_timer_event(std::uint32_t flow, Time when) {
    Outgoing& out = flows_.out[flow];
    if (when != out.timer_at || (out.state == State::kDone && !flows_.connections.shared())) {
      return;
    }
    out.timer_at = kNever;
    const double old_bps = out.allowed.rate_bps;
    if (out.allowed.next_timer <= net_.now) {
      out.allowed = flows_.control->on_timer(flow, out.line, net_.now);
    }
    move_departure(flow, out, old_bps);
    resume(flow);
  }

  void arm(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    const Time due = out.allowed.next_timer;
    if (due < out.timer_at) {
      out.timer_at = std::max(due, net_.now);
      net_.events.push(out.timer_at, Kind::kTimer, flow);
    }
  }

  /// Puts an idle flow in line if it may send, or sets its pace's alarm.
  void offer(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    if (out.state != State::kIdle) {
      return;
    }
    if (!flows_.may_send(flow)) {
      probe_.probe_later(flow);
      return;
    }
    if (awaits_pace(flow)) {
      return;
    }
    if (ports_.several) [[unlikely]] {
      if (out.many) {
        spreader_.send_over_ports(flow);
        return;
      }
      const Work& work = net_.config.work;
      out.link = ports_.port_to(static_cast<std::uint32_t>(work.source[flow]),
                                static_cast<std::uint32_t>(work.target[flow]),
                                flow,
                                work.entropy[flow]);
    }
    out.state = State::kReady;
    ports_.ready.append(out.link, net_.config.work.lane[flow], flow);
    wake_now(out.link);
  }

  /// A pace's alarm; one that a change of rate has put in another's place is not heard.
  void on_pace_event(std::uint32_t flow, Time when) {
    if (flows_.out[flow].state == State::kPaced && flows_.out[flow].alarm_at == when) {
      flows_.out[flow].state = State::kIdle;
      offer(flow);
    }
  }

  void wake(std::uint32_t link) {
    const Port& port = net_.port(link);
    if (port.busy_until > net_.now) {
      if (ports_.pending(link) != 0) {
        net_.wake_later(link);
      }
      return;
    }
    if (!port.up) {
      return;
    }
    ports_.ready.advance(link);
    if (const auto able = static_cast<std::uint16_t>(port.waiting & ~port.paused); able != 0) {
      const Index index = net_.take_first(link, ports_.lane_of(link, able));
      if (ports_.several && net_.pool[index].form == Form::kData) [[unlikely]] {
        net_.pool[index].sent = net_.now;  // the NIC's clock stands at the wire
      }
      net_.launch(link, index);
      if (ports_.several) [[unlikely]] {
        spreader_.refill(link);
      }
    } else {
      send_ready(link);
    }
    if (ports_.pending(link) != 0) {
      net_.wake_later(link);
    }
  }

  void send(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    const Segment segment = flows_.transport.take(out.sender, flows_.extent(flow));
    const Index index = make_data(flow, segment);
    const std::uint32_t size_bytes = net_.pool[index].size_bytes;
    ++net_.counters.data_packets;
    net_.counters.retransmissions += segment.again ? 1U : 0U;
    if (requests_ack(flow, segment)) {
      net_.pool[index].flags |= kAckRequested;
    }
    if constexpr (requires { flows_.transport.depart(out.sender, net_.pool[index]); }) {
      flows_.transport.depart(out.sender, net_.pool[index]);
    }
    if (out.many) [[unlikely]] {
      ports_.dispatch(out.link, index);
    } else {
      net_.launch(out.link, index);
    }
    ports_.software.push(out.link, flow, size_bytes);
    Outgoing& keeper = flows_.keeper_of(flow);
    if (set_.probe_rtts != 0) {
      losses_.on_departure(flow, segment.again);
    }
    if (flows_.control->reactions().departures) {
      keeper.allowed = flows_.control->on_sent(
          flows_.connections.keeper(flow), keeper.line, net_.now, segment.payload_bytes);
    }
    pace(out, keeper, size_bytes + set_.gap_bytes);
    if (set_.ask_every_packets == 0 &&
        std::cmp_less_equal(flows_.transport.in_flight(out.sender, flows_.extent(flow)),
                            set_.payload_bytes)) {
      out.deadline = kNever;  // nothing else is out: its time begins now
    }
    if (flows_.awaits_answer(flow)) {
      losses_.expect_answer(flow);
    }
    arm(flows_.connections.keeper(flow));
    if (flows_.connections.shared()) [[unlikely]] {
      flows_.connections.of(flow).sent_at = net_.now;
      messages_.update_flight(flow);
      messages_.let_next_send(flow);
    }
    if (!out.many && flows_.may_send(flow) && !awaits_pace(flow)) {
      out.state = State::kReady;
      ports_.ready.append_after_sending(out.link, net_.config.work.lane[flow], flow);
    }
  }

  /// Sets the alarm of a flow whose next departure is later than its port is free.
  bool awaits_pace(std::uint32_t flow) {
    Outgoing& out = flows_.out[flow];
    const Time pace_at = flows_.keeper_of(flow).pace_at;
    if (pace_at <= net_.now || (!out.many && pace_at <= net_.port(out.link).busy_until)) {
      return false;
    }
    out.state = State::kPaced;
    out.alarm_at = pace_at;
    net_.events.push(pace_at, Kind::kReady, flow);
    return true;
  }

  /// The departure that was set at `old_bps` is where the rate of now would have set it.
  void move_departure(std::uint32_t flow, Outgoing& keeper, double old_bps) {
    const double new_bps = keeper.allowed.rate_bps;
    if (new_bps == old_bps || keeper.local) {
      return;
    }
    const std::uint32_t bytes = keeper.paced_bytes;
    keeper.pace_at += spread_over(bytes, new_bps) - spread_over(bytes, old_bps);
    for (const std::uint32_t one :
         {flow, flows_.connections.shared() ? flows_.connections.of(flow).sending : flow}) {
      if (flows_.out[one].state == State::kPaced && new_bps > old_bps) {
        flows_.out[one].state =
            State::kIdle;  // its alarm would ring too late: the next offer sets another
      }
    }
  }

 private:
  void wake_now(std::uint32_t link) {
    if (net_.port(link).awake || kicking_) {
      return;
    }
    kicking_ = true;
    wake(link);
    kicking_ = false;
  }

  void send_ready(std::uint32_t link) {
    while (true) {
      const auto able =
          static_cast<std::uint16_t>(ports_.ready.lanes(link) & ~net_.port(link).paused);
      if (able == 0) {
        return;
      }
      const std::uint32_t flow = ports_.ready.take(link, ports_.lane_of(link, able));
      if (flows_.out[flow].state == State::kDone) {
        continue;
      }
      flows_.out[flow].state = State::kIdle;
      if (flows_.out[flow].many) [[unlikely]] {
        spreader_.send_over_ports(flow);
        return;
      }
      // Another message of its connection may have sent since it stood in line.
      if (!flows_.may_send(flow)) {
        probe_.probe_later(flow);
      } else if (!flows_.connections.shared() || !awaits_pace(flow)) {
        send(flow);
        return;
      }
    }
  }

  [[nodiscard]] Line line_of(std::uint32_t flow) const {
    const Outgoing& out = flows_.out[flow];
    const auto source = static_cast<std::uint32_t>(net_.config.work.source[flow]);
    const auto target = static_cast<std::uint32_t>(net_.config.work.target[flow]);
    const Port& port = net_.ports[out.link];
    const bool shares_nic = port.uncontrolled && !out.local;
    return {
        .rate_bps = out.many ? flows_.ports_rate_bps(source, target, out.local)
                             : flows_.port_rate_bps(out.link, out.local),
        .base_rtt = set_.base_rtt_ps != 0 ? set_.base_rtt_ps : net_.base_rtt(source, target),
        .payload_bytes = set_.payload_bytes,
        .packet_bytes = set_.payload_bytes + set_.header_bytes,
        .trims = net_.config.link_control == "trimming",
        .nic_ps = shares_nic ? static_cast<std::uint32_t>(port.flight_ps +
                                                          port.time_of(set_.payload_bytes))
                             : 0U,
    };
  }

  [[nodiscard]] std::uint64_t window_of(const Line& line) const {
    std::uint64_t window = set_.window_bytes != 0 ? set_.window_bytes : ~std::uint64_t{0};
    if (set_.window_bdp > 0) {
      const double bytes = std::max(set_.window_bdp * flows_.bdp_bytes_of(line), 1.0);
      window = std::min(window, static_cast<std::uint64_t>(bytes));
    }
    return window;
  }

  /// Whether a packet that is about to leave asks for an answer; if so, that is noted.
  bool requests_ack(std::uint32_t flow, const Segment& segment) {
    const bool must = !flows_.may_send(flow) || segment.again;  // uet-htsim: every repetition asks
    if (set_.ask_every_packets == 0) {
      return must;
    }
    Outgoing& out = flows_.out[flow];
    const std::uint64_t sent_to = flows_.transport.sent_to(out.sender, flows_.extent(flow));
    if (!must && sent_to < out.ack_requested_to + max_unrequested_bytes(flow)) {
      return false;
    }
    if (!flows_.awaits_answer(flow)) {
      out.deadline = kNever;  // its time begins now
    }
    out.ack_requested_to = std::max(out.ack_requested_to, sent_to);
    return true;
  }

  /// What may leave before the next packet that asks.
  [[nodiscard]] std::uint64_t max_unrequested_bytes(std::uint32_t flow) const {
    const Outgoing& keeper = flows_.keeper_of(flow);
    if (std::min(keeper.allowed.window_bytes, flows_.out[flow].window) != cc::kNoWindow) {
      return 0;  // what is not answered would hold the window
    }
    const std::uint64_t most = std::uint64_t{set_.ask_every_packets} * set_.payload_bytes;
    if (set_.asks_per_rtt == 0) {
      return most;
    }
    const double share = std::min(1.0, keeper.allowed.rate_bps / keeper.line.rate_bps);
    const double round = flows_.bdp_bytes_of(keeper.line) * share;
    return std::min(most, static_cast<std::uint64_t>(round / set_.asks_per_rtt));
  }

  void pace(const Outgoing& out, Outgoing& keeper, std::uint32_t wire_bytes) {
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

  static Time spread_over(std::uint32_t wire_bytes, double rate_bps) {
    return static_cast<Time>(wire_bytes * static_cast<double>(kBitPs) / rate_bps);
  }

  /// What a data packet tells its receiver to grant; 0 where receivers do not pull.
  [[nodiscard]] std::uint64_t pull_demand(std::uint32_t flow) const {
    if constexpr (Transport::kPulls) {
      const Outgoing& out = flows_.out[flow];
      // Its own window and a packet, if that is less (uet-htsim computePullTarget).
      const std::uint64_t most = flows_.first_window(out.line);
      const std::uint64_t own = std::min(most, out.allowed.window_bytes) + set_.payload_bytes;
      const std::uint32_t sharers = out.many ? 1 : 1 + ports_.ready.size(out.link);
      return flows_.transport.demand(out.sender,
                                     flows_.extent(flow),
                                     {.window_bytes = std::min(most, own), .sharers = sharers});
    } else {
      return 0;
    }
  }

  Index make_data(std::uint32_t flow, const Segment& segment) {
    const Work& work = net_.config.work;
    Outgoing& out = flows_.out[flow];
    const Index index = net_.pool.take();
    if (net_.config.switches.telemetry && net_.telemetry.size() < net_.pool.capacity() * kMaxHops) {
      net_.telemetry.resize(2 * net_.pool.capacity() * kMaxHops);
    }
    Packet& packet = net_.pool[index];
    out.last_entropy = out.drawn ? out.next_entropy
                                 : flows_.spray.next(flows_.connections.keeper(flow),
                                                     work.entropy[flow],
                                                     net_.random_at(out.link));
    out.drawn = false;
    const bool last = segment.offset + segment.payload_bytes == flows_.extent(flow).size_bytes;
    packet = {
        .sent = net_.now,
        .offset = segment.offset,
        .bits = pull_demand(flow),
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

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  HostPorts& ports_;
  PortSpreader<Transport>& spreader_;
  MessageOrder<Transport>& messages_;
  LossDetector<Transport>& losses_;
  ReceiptProbe<Transport>& probe_;
  bool kicking_ = false;
};

}  // namespace netloom::packet
