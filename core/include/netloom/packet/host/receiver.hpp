// What arrives at an endpoint, and what it answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/host/pulls.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

template <class Transport>
class PullGranter;

/// What arrives at an endpoint, and what it answers.
template <class Transport>
class Receiver {
  using Incoming = packet::Incoming<Transport>;

  static constexpr bool kCodes = requires { Transport::kCodes; };

 public:
  Receiver(FlowTable<Transport>& flows, HostPorts& ports, PullGranter<Transport>& grants)
      : flows_(flows), net_(flows.net), set_(flows.set), ports_(ports), grants_(grants) {}

  /// What a packet that a receiver makes itself consists of.
  struct Control {
    Form form;
    std::uint32_t size_bytes;
    std::uint64_t bits;
  };

  void receive(std::uint32_t link, Index index) {
    const Packet& packet = net_.pool[index];
    const std::uint32_t flow = packet.flow;
    Incoming& in = flows_.in[flow];
    if (!in.open) {
      open(flow, packet);
    }
    if (ports_.several) [[unlikely]] {
      note_arrival_port(link ^ 1U, packet);
    }
    if constexpr (Transport::kPulls) {
      grants_.note(packet);
    }
    const bool whole = (packet.flags & kTrimmed) == 0;
    const std::uint32_t whole_bytes = whole ? packet.size_bytes : 0U;
    net_.counters.delivered_packets += whole ? 1U : 0U;
    const Receipt receipt =
        in.complete ? Receipt{.reply = whole ? Reply::kAck : Reply::kNothing,
                              .redundant = kCodes && (packet.flags & kAgain) == 0,}
                    : flows_.transport.on_data(in.receiver, flows_.extent(flow), packet, net_.now);
    net_.counters.delivered_bytes += receipt.new_bytes;
    net_.counters.reordered += receipt.disordered ? 1U : 0U;
    net_.counters.duplicates +=
        whole && receipt.new_bytes == 0 && !receipt.disordered && !receipt.redundant ? 1U : 0U;
    const bool upset = receipt.disordered && set_.punish_disorder && receipt.reply == Reply::kNack;
    if (set_.cnp_interval_ps != 0 && ((packet.flags & kMarked) != 0 || upset ||
                                      flows_.in[flows_.connections.keeper(flow)].owes_notice)) {
      notify(flow, packet);
    }
    if (!in.complete && flows_.transport.complete(in.receiver, flows_.extent(flow))) {
      in.complete = true;
      flows_.progress.arrived(flow);
    }
    in.unanswered_bytes += whole_bytes;  // a notice may have moved the packet
    reply(link, index, receipt.reply);
    if constexpr (Transport::kPulls) {
      grants_.request_grant(flow, link);
    }
  }

  /// Answers a sender that asks.
  void answer_probe(std::uint32_t link, Index index) {
    const Packet& packet = net_.pool[index];
    if (!flows_.in[packet.flow].open) {
      net_.pool.give_back(index);  // nothing has come that could be told
      return;
    }
    if (ports_.several) [[unlikely]] {
      note_arrival_port(link ^ 1U, packet);
    }
    reply(link, index, Reply::kAck);
  }

  void send_control(std::uint32_t flow, const Packet& cause, Control control) {
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
    ports_.dispatch(flows_.in[flow].link, index);
  }

 private:
  void open(std::uint32_t flow, const Packet& packet) {
    Incoming& in = flows_.in[flow];
    in.open = true;
    in.link = ports_.port_to(packet.target, packet.source, flow, packet.entropy);
    flows_.transport.open(in.receiver, flows_.out[flow].line.base_rtt);
    if constexpr (Transport::kPulls) {
      in.receiver.granted_bytes = flows_.out[flow].sender.granted_bytes;
    }
  }

  /// Where there are several ports, answers leave by the one that was last heard at.
  void note_arrival_port(std::uint32_t link, const Packet& packet) {
    flows_.in[packet.flow].link =
        net_.ports[link].up
            ? link
            : ports_.port_to(packet.target, packet.source, packet.flow, packet.entropy);
  }

  void reply(std::uint32_t /*link*/, Index index, Reply kind) {
    Packet& packet = net_.pool[index];
    Incoming& in = flows_.in[packet.flow];
    const bool asks = (packet.flags & kAckRequested) != 0;
    in.asked |= asks;
    in.seen_to = kind == Reply::kMaybe ? std::max(in.seen_to, packet.number + 1) : in.seen_to;
    // Once nothing is missing another answer tells what came late (uet-htsim _ack_request).
    const bool caught_up = in.asked && flows_.transport.has_before(in.receiver, in.seen_to);
    in.asked &= !caught_up;
    const bool due_unasked =
        set_.ask_every_packets == 0 && (in.unanswered_bytes >= set_.ack_every_bytes ||
                                        !in.answered || (packet.flags & kMarked) != 0);
    const bool due = due_unasked || in.complete || asks || caught_up;
    if (kind == Reply::kNothing || (kind == Reply::kMaybe && !due)) {
      net_.pool.give_back(index);
      return;
    }
    in.unanswered_bytes = kind == Reply::kNack ? in.unanswered_bytes : 0;
    in.answered |= kind != Reply::kNack;
    std::swap(packet.source, packet.target);
    const Form tells = packet.form == Form::kProbe ? Form::kProbeAck : Form::kAck;
    packet.form = kind == Reply::kNack ? Form::kNack : tells;
    packet.size_bytes = static_cast<std::uint16_t>(set_.ack_bytes);
    packet.lane = set_.ack_on_data_lane ? net_.config.work.lane[packet.flow] : kControl;
    // Of a packet that had come before, the mark alone matters (uet-htsim processData).
    packet.flags &= static_cast<std::uint8_t>(kMarked | kAtLastHop |
                                              (kind == Reply::kMaybe ? kAckRequested : 0));
    if (in.complete) {  // its books are closed: all of it has arrived
      packet.offset = flows_.transport.end_of(flows_.extent(packet.flow));
      packet.bits = 0;
    } else {
      flows_.transport.report(in.receiver, packet);
    }
    if (in.complete && !std::exchange(in.closed, true)) {
      flows_.transport.close(in.receiver);
    }
    ports_.dispatch(in.link, index);
  }

  void notify(std::uint32_t flow, const Packet& cause) {
    Incoming& in = flows_.in[flows_.connections.keeper(flow)];
    in.owes_notice = in.notified_at >= 0 && net_.now - in.notified_at < set_.cnp_interval_ps;
    if (in.owes_notice) {  // told when the interval is over: Zhu et al. 2015, htsim DCQCNSink
      return;
    }
    in.notified_at = net_.now;
    ++net_.counters.notifications;
    send_control(flow, cause, {.form = Form::kCnp, .size_bytes = set_.cnp_bytes, .bits = 0});
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  HostPorts& ports_;
  PullGranter<Transport>& grants_;
};

}  // namespace netloom::packet
