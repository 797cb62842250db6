// What receivers that pull grant their senders, flow by flow in turn.
#pragma once

#include <algorithm>
#include <cstdint>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/host/host_ports.hpp"
#include "netloom/packet/host/pulls.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

template <class Transport>
class Receiver;

/// What receivers that pull grant their senders, flow by flow in turn.
template <class Transport>
class PullGranter {
 public:
  PullGranter(FlowTable<Transport>& flows, Receiver<Transport>& receiver)
      : flows_(flows),
        net_(flows.net),
        set_(flows.set),
        receiver_(receiver),
        pulls_(flows.net, flows.num_flows()) {}

  /// A data packet has come, or what is left of it.
  void note(const Packet& packet) { pulls_.note(packet); }

  template <class Archive>
  void visit(Archive& archive) {
    pulls_.visit(archive);
  }

  void request_grant(std::uint32_t flow, std::uint32_t link) {
    if constexpr (Transport::kPulls) {
      const auto& receiver = flows_.in[flow].receiver;
      if (!flows_.in[flow].complete && receiver.granted_bytes < receiver.wanted_bytes()) {
        pulls_.ask(net_.port(link).target, flow);
      }
    }
  }

  /// Grants the flow whose turn it is what it asks for or, when none asks, some more to one that
  /// had what it asked for: its first window may have lapsed.
  void on_pull_event(std::uint32_t endpoint) {
    if constexpr (Transport::kPulls) {
      const std::uint32_t asking = pulls_.take(endpoint);
      const std::uint32_t flow = asking != kNone ? asking : pulls_.take_resting(endpoint);
      if (flow == kNone || flows_.in[flow].complete) {
        pulls_.done(endpoint, net_.now);
        return;
      }
      auto& receiver = flows_.in[flow].receiver;
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
                 receiver.granted_bytes <
                     receiver.wanted_bytes() + flows_.first_window(flows_.out[flow].line)) {
        pulls_.rest(endpoint, flow);  // uet-htsim UecPullPacer: slow pulls
      }
    }
  }

 private:
  void send_pull(std::uint32_t flow) {
    if constexpr (Transport::kPulls) {
      Packet cause{};
      cause.flow = flow;
      cause.entropy = net_.config.work.entropy[flow];
      const std::uint64_t granted_bytes = flows_.in[flow].receiver.granted_bytes;
      receiver_.send_control(
          flow, cause, {.form = Form::kPull, .size_bytes = set_.ack_bytes, .bits = granted_bytes});
    }
  }

  /// What a grant takes at the rate that a receiver asks for.
  [[nodiscard]] Time pull_time(std::uint32_t flow, std::uint64_t bytes) {
    const std::uint64_t packets = (bytes + set_.payload_bytes - 1) / set_.payload_bytes;
    const std::uint64_t wire = bytes + packets * (set_.header_bytes + set_.gap_bytes);
    const Port& port = net_.port(flows_.in[flow].link ^ 1U);
    const Time takes = port.time_of(static_cast<std::int64_t>(wire));
    const Work& work = net_.config.work;
    const auto endpoint = static_cast<std::uint32_t>(work.target[flow]);
    const double ports =
        !flows_.out[flow].many
            ? 1.0
            : flows_.ports_rate_bps(
                  endpoint, static_cast<std::uint32_t>(work.source[flow]), flows_.out[flow].local) /
                  static_cast<double>(port.rate_bps);
    const double share = set_.pull_share * pulls_.share(endpoint);
    return static_cast<Time>(static_cast<double>(takes) / (share * ports));
  }

  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  Receiver<Transport>& receiver_;
  Pulls pulls_;
};

}  // namespace netloom::packet
