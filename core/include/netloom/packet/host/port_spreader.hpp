// Flows that spray over several ports of their endpoint: which port a packet takes, and what a
// port that is down leaves to others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

template <class Transport>
class Sender;
template <class Transport>
class ReceiptProbe;

/// Flows that spray over several ports of their endpoint: which port a packet takes, and what a
/// port that is down leaves to others.
template <class Transport>
class PortSpreader {
  using Outgoing = packet::Outgoing<Transport>;
  using State = FlowState;

 public:
  PortSpreader(FlowTable<Transport>& flows,
               HostPorts& ports,
               Sender<Transport>& sender,
               ReceiptProbe<Transport>& probe)
      : flows_(flows),
        net_(flows.net),
        set_(flows.set),
        ports_(ports),
        sender_(sender),
        probe_(probe) {}

  /// Makes packets of a flow that sprays over several ports, until it may send no more or the port
  /// of the next one has enough to go on with.
  void send_over_ports(std::uint32_t flow) {
    const Work& work = net_.config.work;
    Outgoing& out = flows_.out[flow];
    while (flows_.may_send(flow) && !sender_.awaits_pace(flow)) {
      draw(flow);
      if (ports_.is_backlogged(out.link, work.lane[flow])) {
        out.state = State::kReady;
        ports_.ready.append(out.link, work.lane[flow], flow);
        return;
      }
      sender_.send(flow);
    }
    if (out.state == State::kIdle) {
      probe_.probe_later(flow);
    }
  }

  /// Lets flows go on that waited for the port to have room.
  void refill(std::uint32_t link) {
    for (std::uint32_t number = 0; number < net_.num_lanes; ++number) {
      const auto lane = static_cast<std::uint8_t>(number);
      while (((ports_.ready.lanes(link) >> lane) & 1U) != 0 && !ports_.is_backlogged(link, lane)) {
        const std::uint32_t flow = ports_.ready.first(link, lane);
        if (!flows_.out[flow].many) {
          break;
        }
        ports_.ready.take(link, lane);
        if (flows_.out[flow].state != State::kDone) {
          flows_.out[flow].state = State::kIdle;
          send_over_ports(flow);
        }
      }
    }
  }

  void leave_port(std::uint32_t link) {
    ports_.ready.advance(link);
    std::vector<std::uint32_t> flows;
    std::vector<Index> packets;
    for (std::uint32_t number = 0; number < net_.num_lanes; ++number) {
      const auto lane = static_cast<std::uint8_t>(number);
      while (((ports_.ready.lanes(link) >> lane) & 1U) != 0) {
        flows.push_back(ports_.ready.take(link, lane));
      }
      while (net_.queue(link, lane).head != kNone) {
        packets.push_back(net_.take_first(link, lane));
      }
    }
    for (const Index index : packets) {
      const Packet& packet = net_.pool[index];
      ports_.dispatch(ports_.port_to(packet.source, packet.target, packet.flow, packet.entropy),
                      index);
    }
    for (const std::uint32_t flow : flows) {
      if (flows_.out[flow].state != State::kDone) {
        flows_.out[flow].state = State::kIdle;
        sender_.offer(flow);
      }
    }
  }

 private:
  /// Gives the next packet of such a flow its entropy, if it has none, and thereby its port. Values
  /// whose port is down are left out, and those whose port has enough to do while another has not.
  void draw(std::uint32_t flow) {
    const Work& work = net_.config.work;
    Outgoing& out = flows_.out[flow];
    const auto ways = net_.ways(static_cast<std::uint32_t>(work.source[flow]),
                                static_cast<std::uint32_t>(work.target[flow]));
    const std::uint8_t lane = work.lane[flow];
    const bool has_room = std::ranges::any_of(ways, [&](std::int32_t way) {
      const auto link = static_cast<std::uint32_t>(way);
      return net_.ports[link].up && !ports_.is_backlogged(link, lane);
    });
    for (std::uint32_t tried = 0; tried < set_.num_paths; ++tried) {
      if (!std::exchange(out.drawn, true)) {
        out.next_entropy = flows_.spray.next(
            flows_.connections.keeper(flow), work.entropy[flow], net_.randoms.front());
      }
      out.link =
          static_cast<std::uint32_t>(ways[turn_of(net_, flow, out.next_entropy) % ways.size()]);
      const bool full = has_room && tried < 8 * ways.size() && ports_.is_backlogged(out.link, lane);
      if (net_.ports[out.link].up && !full) {
        return;
      }
      out.drawn = false;
    }
    out.drawn = true;  // no value has a port that is up: the last one waits for its own
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  HostPorts& ports_;
  Sender<Transport>& sender_;
  ReceiptProbe<Transport>& probe_;
};

}  // namespace netloom::packet
