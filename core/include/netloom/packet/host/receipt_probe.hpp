// Senders that ask what has arrived.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

template <class Transport>
class LossDetector;

/// Senders that ask what has arrived.
///
/// Where one answer stands for several packets, a packet that leaves a sender room for more does
/// not ask for an answer. If the window then closes behind it (marks, trims, quick adapt) and no
/// packet follows, what has come stays unacknowledged, and the window closed, until a timeout. A
/// control packet asks instead: the probe of UET (specification 1.0.1, table 3-38: requests an
/// acknowledgement; secondary), at the times of uet-htsim's (uec.cpp sendProbe, which it has where
/// SLEEK is on).
template <class Transport>
class ReceiptProbe {
  using Outgoing = packet::Outgoing<Transport>;

 public:
  ReceiptProbe(FlowTable<Transport>& flows, HostPorts& ports, LossDetector<Transport>& losses)
      : flows_(flows), net_(flows.net), set_(flows.set), ports_(ports), losses_(losses) {}

  /// Notes that an answer has come that is no NACK.
  void on_answer(std::uint32_t flow, const Packet& answer) {
    if (answer.form != Form::kProbeAck) {  // else it is about no path
      const bool marked = (answer.flags & kMarked) != 0;
      flows_.spray.on_ack(flows_.connections.keeper(flow), answer.entropy, marked, net_.now);
    }
    if constexpr (requires { flows_.out[flow].sender.probe_at; }) {
      if (set_.ask_rtts > 0) {
        flows_.out[flow].sender.probe_at = net_.now + round_trips(flow, set_.ask_rtts);
      }
    }
  }

  /// Sets the alarm of a flow that may send no more, and has nothing out that asks for an answer.
  void probe_later(std::uint32_t flow) {
    if constexpr (requires { flows_.transport.awaits_without_request(flows_.out[flow].sender); }) {
      Outgoing& out = flows_.out[flow];
      const bool asks = set_.ask_rtts > 0 && set_.timeout_ps > 0 && losses_.times_each_packet();
      if (asks && out.sender.probe_at < out.timeout_at &&
          flows_.transport.awaits_without_request(out.sender)) {
        out.timeout_at =
            std::max(out.sender.probe_at, net_.now);  // the alarm that was set is too late
        net_.events.push(out.timeout_at, Kind::kTimeout, flow);
      }
    }
  }

  /// Asks the flow's receiver what has come, if it is time.
  void probe_if_due(std::uint32_t flow) {
    if constexpr (requires { flows_.transport.awaits_without_request(flows_.out[flow].sender); }) {
      constexpr double kAgainRtts = 5;  // uet-htsim probe_retry_time
      Outgoing& out = flows_.out[flow];
      if (out.sender.probe_at > net_.now || flows_.may_send(flow) ||
          !flows_.transport.awaits_without_request(out.sender)) {
        return;
      }
      out.sender.probe_at = net_.now + round_trips(flow, kAgainRtts);
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
      packet.form = Form::kProbe;
      ports_.dispatch(ports_.port_to(packet.source, packet.target, flow, packet.entropy), index);
    }
  }

 private:
  /// A number of round trips of a flow's empty path.
  [[nodiscard]] Time round_trips(std::uint32_t flow, double number) const {
    return static_cast<Time>(number * static_cast<double>(flows_.out[flow].line.base_rtt));
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  HostPorts& ports_;
  LossDetector<Transport>& losses_;
};

}  // namespace netloom::packet
