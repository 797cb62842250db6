// Every endpoint of the network, put together from its parts.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "netloom/packet/cc/controllers.hpp"
#include "netloom/packet/host/ack_handler.hpp"
#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/host/loss_detector.hpp"
#include "netloom/packet/host/message_order.hpp"
#include "netloom/packet/host/port_spreader.hpp"
#include "netloom/packet/host/pull_granter.hpp"
#include "netloom/packet/host/receipt_probe.hpp"
#include "netloom/packet/host/receiver.hpp"
#include "netloom/packet/host/sender.hpp"
#include "netloom/packet/memory/archive.hpp"
#include "netloom/packet/memory/prefetch.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/sides.hpp"

namespace netloom::packet {

/// Gives each event to the part that it concerns.
///
/// `flows_` is what all parts share. On the sending side `sender_` is what the others ask to go on;
/// `acks_`, `losses_` and `probe_` are what a flow hears, or does not hear in time.
template <class Transport>
class Endpoints final : public EndpointSide {
 public:
  Endpoints(Network& network, cc::ControllersPtr control)
      : flows_(network, std::move(control)),
        ports_(network),
        sender_(flows_, ports_, spreader_, messages_, losses_, probe_),
        spreader_(flows_, ports_, sender_, probe_),
        messages_(flows_, sender_),
        acks_(flows_, sender_, messages_, losses_, probe_),
        losses_(flows_, sender_, messages_, probe_),
        probe_(flows_, ports_, losses_),
        receiver_(flows_, ports_, grants_),
        grants_(flows_, receiver_) {}

  void begin() override { flows_.progress.begin(); }

  void arrive(std::uint32_t link, Index index) override {
    Network& net = flows_.net;
    if (ports_.software.delays(link, index)) [[unlikely]] {
      return;
    }
    const Packet& packet = net.pool[index];
    if (!net.credits.empty() && !net.ports[link].uncontrolled) {
      net.enter_credit(link, packet);
      net.leave_credit(link, packet.lane, packet.size_bytes, net.now);
    }
    if (packet.form == Form::kData) {
      receiver_.receive(link, index);
      return;
    }
    if (packet.form == Form::kProbe) [[unlikely]] {
      receiver_.answer_probe(link, index);
      return;
    }
    acks_.answer(index);
    net.pool.give_back(index);
  }

  void wake(std::uint32_t link) override { sender_.wake(link); }

  void handle(const Event& event) override {
    switch (event.kind()) {
      case Kind::kStart:
        if (flows_.progress.is_known(event.subject)) [[unlikely]] {
          flows_.progress.end_known(event.subject);
        } else {
          sender_.start(event.subject);
        }
        break;
      case Kind::kReady:
        sender_.on_pace_event(event.subject, event.when);
        break;
      case Kind::kTimer:
        sender_.on_timer_event(event.subject, event.when);
        break;
      case Kind::kTimeout:
        losses_.on_timeout_event(event.subject);
        break;
      default:
        grants_.on_pull_event(event.subject);
    }
  }

  void leave(std::uint32_t link) override {
    if (ports_.several) {
      spreader_.leave_port(link);
    }
  }

  void expect(std::uint32_t /*link*/, Index index) override {
    const Packet& packet = flows_.net.pool[index];
    if (packet.form == Form::kData) {
      fetch_lines(&flows_.in[packet.flow], sizeof(Incoming));
      return;
    }
    fetch_lines(&flows_.out[packet.flow], sizeof(Outgoing));
    if (flows_.control->reactions().acks) {
      flows_.control->fetch(packet.flow);
    }
  }

  void expect_soon(std::uint32_t /*link*/, Index index) override {
    const Packet& packet = flows_.net.pool[index];
    if (packet.form != Form::kData) {
      return;
    }
    if (const std::uint32_t back = flows_.in[packet.flow].link; back != kNone) {
      fetch_line(&flows_.net.ports[back]);
    }
  }

  void expect_wake_soon(std::uint32_t link) override { flows_.net.expect_flight(link); }

  void expect_wake(std::uint32_t link) override {
    for (std::uint32_t lanes = ports_.ready.lanes(link); lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
      const std::uint32_t flow = ports_.ready.first(link, lane);
      fetch_lines(&flows_.out[flow], sizeof(Outgoing));
      if (flows_.control->reactions().departures) {
        flows_.control->fetch(flow);
      }
    }
  }

  [[nodiscard]] const Progress& progress() const override { return flows_.progress; }

  [[nodiscard]] double rate_bps(std::uint32_t flow) const override {
    const FlowState state = flows_.out[flow].state;
    const bool runs = state != FlowState::kNotStarted && state != FlowState::kDone;
    return runs ? flows_.keeper_of(flow).allowed.rate_bps : 0.0;
  }

  void save(Saver& saver) override {
    visit(saver);
    flows_.control->save(saver);
  }

  void load(Loader& loader) override {
    visit(loader);
    flows_.control->load(loader);
  }

 private:
  using Outgoing = packet::Outgoing<Transport>;
  using Incoming = packet::Incoming<Transport>;

  void visit(auto& archive) {
    flows_.transport.visit(archive);
    flows_.progress.visit(archive);
    flows_.spray.visit(archive);
    flows_.connections.visit(archive);
    archive(flows_.out);
    archive(flows_.in);
    ports_.visit(archive);
    grants_.visit(archive);
    losses_.visit(archive);
  }

  FlowTable<Transport> flows_;
  HostPorts ports_;
  Sender<Transport> sender_;
  PortSpreader<Transport> spreader_;
  MessageOrder<Transport> messages_;
  AckHandler<Transport> acks_;
  LossDetector<Transport> losses_;
  ReceiptProbe<Transport> probe_;
  Receiver<Transport> receiver_;
  PullGranter<Transport> grants_;
};

}  // namespace netloom::packet
