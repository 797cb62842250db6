// What the two ends of every flow remember, and what follows from that alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "netloom/packet/cc/controllers.hpp"
#include "netloom/packet/host/connections.hpp"
#include "netloom/packet/host/flows.hpp"
#include "netloom/packet/host/progress.hpp"
#include "netloom/packet/host/spray.hpp"
#include "netloom/packet/memory/huge_pages.hpp"
#include "netloom/packet/network.hpp"
#include "netloom/packet/transport/segment.hpp"

namespace netloom::packet {

/// What the two ends of every flow remember, and what follows from that alone. The other parts of
/// the endpoints change it.
template <class Transport>
struct FlowTable {
  using Outgoing = packet::Outgoing<Transport>;
  using Incoming = packet::Incoming<Transport>;
  using State = FlowState;

  FlowTable(Network& network, cc::ControllersPtr controllers)
      : net(network),
        set(network.config.hosts),
        control(std::move(controllers)),
        transport(set),
        progress(network),
        spray(set.entropy, set.num_paths, num_flows()),
        connections(network.config.work),
        out(num_flows(), Outgoing{.allowed = control->unstarted()}),
        in(num_flows()) {}

  [[nodiscard]] std::size_t num_flows() const { return net.config.work.num_transfers(); }

  [[nodiscard]] Extent extent(std::uint32_t flow) const {
    return {
        .size_bytes = static_cast<std::uint64_t>(net.config.work.size_bytes[flow]),
        .payload_bytes = set.payload_bytes,
    };
  }

  /// The flow with what this one's connection knows of its path: itself, if it is alone on it.
  [[nodiscard]] Outgoing& keeper_of(std::uint32_t flow) { return out[connections.keeper(flow)]; }

  [[nodiscard]] const Outgoing& keeper_of(std::uint32_t flow) const {
    return out[connections.keeper(flow)];
  }

  /// Whether something was sent of which nothing has been heard, and should be: of what did not ask
  /// there need be no answer (InfiniBand vol. 1, section 9.7; recalled).
  [[nodiscard]] bool awaits_answer(std::uint32_t flow) const {
    return set.ask_every_packets == 0 ||
           transport.acked_to(out[flow].sender, extent(flow)) < out[flow].ack_requested_to;
  }

  /// Where a flow stands in what its connection carries, and what of that is in flight.
  [[nodiscard]] Ack position_of(std::uint32_t flow) const {
    const auto& sender = out[flow].sender;
    Ack ack{
        .now = net.now,
        .acked_to = transport.acked_to(sender, extent(flow)),
        .sent_to = transport.sent_to(sender, extent(flow)),
        .in_flight_bytes = static_cast<std::int64_t>(transport.in_flight(sender, extent(flow))),
    };
    if (connections.shared()) [[unlikely]] {
      place_in_connection(flow, ack);
    }
    return ack;
  }

  /// Says of an acknowledgement where it stands in all that the flow's connection carries.
  void place_in_connection(std::uint32_t flow, Ack& ack) const {
    const Connection& all = connections.of(flow);
    std::uint32_t oldest = all.oldest;
    while (out[oldest].after != kNone && transport.finished(out[oldest].sender, extent(oldest))) {
      oldest = out[oldest].after;  // all of it is acknowledged, by this answer or one before
    }
    ack.acked_to = connections.message(oldest).begin_bytes +
                   transport.acked_to(out[oldest].sender, extent(oldest));
    ack.sent_to = connections.message(all.sending).begin_bytes +
                  transport.sent_to(out[all.sending].sender, extent(all.sending));
    ack.in_flight_bytes += flight_of_others(flow);
  }

  /// Payload in flight of the other messages of a connection.
  [[nodiscard]] std::int64_t flight_of_others(std::uint32_t flow) const {
    return connections.of(flow).flight_bytes - connections.message(flow).flight_bytes;
  }

  /// Whether some of a message has never been sent.
  [[nodiscard]] bool is_unsent(std::uint32_t flow) const {
    const Outgoing& one = out[flow];
    return one.state != State::kDone &&
           (one.behind || !transport.all_sent(one.sender, extent(flow)));
  }

  [[nodiscard]] bool may_send(std::uint32_t flow) const {
    const Outgoing& one = out[flow];
    if (one.behind || !transport.has_work(one.sender, extent(flow))) {
      return false;
    }
    auto flight = static_cast<std::int64_t>(transport.in_flight(one.sender, extent(flow)));
    if (connections.shared()) [[unlikely]] {
      flight += flight_of_others(flow);
    }
    const std::uint64_t window =
        one.local ? one.window : std::min(keeper_of(flow).allowed.window_bytes, one.window);
    return std::cmp_less(flight, window) || one.probe_due;
  }

  [[nodiscard]] static double bdp_bytes_of(const Line& line) {
    return line.rate_bps * static_cast<double>(line.base_rtt) / static_cast<double>(kBitPs);
  }

  [[nodiscard]] std::uint64_t first_window(const Line& line) const {
    return set.first_window_bytes != 0 ? set.first_window_bytes
                                       : static_cast<std::uint64_t>(1.5 * bdp_bytes_of(line));
  }

  /// What a port sends at most, software included.
  [[nodiscard]] double port_rate_bps(std::uint32_t link, bool local) const {
    const auto rate_bps = static_cast<double>(net.ports[link].rate_bps);
    return set.host_rate_bps > 0 && !local ? std::min(rate_bps, set.host_rate_bps) : rate_bps;
  }

  /// The same of all ports from one endpoint to another.
  [[nodiscard]] double ports_rate_bps(std::uint32_t from, std::uint32_t to, bool local) const {
    double total_bps = 0.0;
    for (const std::int32_t link : net.ways(from, to)) {
      total_bps += port_rate_bps(static_cast<std::uint32_t>(link), local);
    }
    return total_bps;
  }

  Network& net;
  const HostSettings& set;
  cc::ControllersPtr control;
  Transport transport;
  Progress progress;
  Spray spray;
  Connections connections;
  Large<Outgoing> out;
  Large<Incoming> in;
};

}  // namespace netloom::packet
