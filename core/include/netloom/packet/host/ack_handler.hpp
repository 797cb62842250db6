// What an acknowledgement, a CNP or a pull does to the flow that it answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/signals.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

template <class Transport>
class Sender;
template <class Transport>
class MessageOrder;
template <class Transport>
class LossDetector;
template <class Transport>
class ReceiptProbe;

/// What an acknowledgement, a CNP or a pull does to the flow that it answers.
template <class Transport>
class AckHandler {
  using Outgoing = packet::Outgoing<Transport>;
  using State = FlowState;

 public:
  AckHandler(FlowTable<Transport>& flows,
             Sender<Transport>& sender,
             MessageOrder<Transport>& messages,
             LossDetector<Transport>& losses,
             ReceiptProbe<Transport>& probe)
      : flows_(flows),
        net_(flows.net),
        set_(flows.set),
        sender_(sender),
        messages_(messages),
        losses_(losses),
        probe_(probe) {}

  void answer(Index index) {
    const Packet& packet = net_.pool[index];
    const std::uint32_t flow = packet.flow;
    Outgoing& out = flows_.out[flow];
    // A connection that goes on hears a notification about a message that is done.
    if (out.state == State::kDone && (!flows_.connections.shared() || packet.form != Form::kCnp)) {
      return;
    }
    out.idle_timeouts = 0;
    Outgoing& keeper = flows_.keeper_of(flow);
    const double old_bps = keeper.allowed.rate_bps;
    switch (packet.form) {
      case Form::kCnp:
        keeper.allowed =
            flows_.control->on_notification(flows_.connections.keeper(flow), keeper.line, net_.now);
        break;
      case Form::kPull:
        if constexpr (Transport::kPulls) {
          flows_.transport.on_pull(out.sender, packet.bits);
        }
        break;
      default:
        acknowledge(flow, index);
        if (out.state == State::kDone && !flows_.connections.shared()) {
          return;
        }
    }
    if (flows_.connections.shared()) [[unlikely]] {
      messages_.update_flight(flow);
    }
    if (keeper.allowed.rate_bps < keeper.line.rate_bps) {
      flows_.progress.slowed[flow] = 1;
    }
    sender_.move_departure(flow, keeper, old_bps);
    sender_.resume(flow);
  }

 private:
  void acknowledge(std::uint32_t flow, Index index) {
    const Packet& packet = net_.pool[index];
    Outgoing& out = flows_.out[flow];
    const std::uint32_t paths = flows_.connections.keeper(flow);
    Outgoing& keeper = flows_.out[paths];
    const bool nack = packet.form == Form::kNack;
    if constexpr (requires { flows_.transport.comes_late(out.sender, packet); }) {
      losses_.rack_of(flow).disordered |=
          set_.probe_rtts != 0 && flows_.transport.comes_late(out.sender, packet);
    }
    News news = nack ? flows_.transport.on_nack(out.sender, flows_.extent(flow), packet)
                     : flows_.transport.on_ack(out.sender, flows_.extent(flow), packet);
    const bool marked = (packet.flags & kMarked) != 0;
    if (set_.probe_rtts != 0) {
      losses_.detect_by_time(flow, packet, news);
    }
    if (news.acked_bytes != 0) {
      keeper.doublings = 0;
    }
    if (news.lost_bytes != 0) {
      keeper.allowed = flows_.control->on_loss(paths, keeper.line, net_.now, news.lost_bytes);
      if ((packet.flags & kAtLastHop) != 0) {  // no path is to blame: uet-htsim processNack
        flows_.spray.on_ack(paths, packet.entropy, marked, net_.now);
      } else {
        flows_.spray.on_loss(paths, packet.entropy, net_.now);
      }
    }
    if (flows_.control->reactions().acks && (!nack || Transport::kNaksTellRoundTrips)) {
      keeper.allowed =
          flows_.control->on_ack(paths, keeper.line, ack_of(flow, index, news, marked));
    }
    if (!nack) {
      probe_.on_answer(flow, packet);
    }
    if (set_.measures_timeout && packet.form == Form::kAck) {
      losses_.measure_rtt(flow, net_.now - packet.sent);
    }
    if (news.acked_bytes != 0 || news.lost_bytes != 0) {
      losses_.restart_timer(flow);
    }
    if (flows_.transport.finished(out.sender, flows_.extent(flow))) {
      out.state = State::kDone;  // it may still stand in line: send_ready drops it
      flows_.transport.close(out.sender);
      flows_.progress.finished(flow);
    }
  }

  [[nodiscard]] Ack ack_of(std::uint32_t flow, Index index, News news, bool marked) {
    const Packet& packet = net_.pool[index];
    const bool full = net_.config.switches.telemetry && packet.num_hops != 0;
    Ack ack = flows_.position_of(flow);
    ack.rtt = net_.now - packet.sent;
    ack.acked_bytes = news.acked_bytes;
    ack.times_sent = news.times_sent;
    ack.marked = marked;
    ack.hops = full ? net_.hops(index) : nullptr;
    ack.num_hops = full ? packet.num_hops : std::uint8_t{0};
    ack.pint_code = net_.config.switches.pint ? packet.num_hops : std::uint8_t{0};
    return ack;
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  Sender<Transport>& sender_;
  MessageOrder<Transport>& messages_;
  LossDetector<Transport>& losses_;
  ReceiptProbe<Transport>& probe_;
};

}  // namespace netloom::packet
