// Messages that share a connection and its congestion control: which one sends next, and what of
// them is in flight.
#pragma once

#include <cstdint>
#include <utility>

#include "netloom/packet/host/flow_table.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

template <class Transport>
class Sender;

/// Messages that share a connection and its congestion control: which one sends next, and what of
/// them is in flight.
template <class Transport>
class MessageOrder {
  using Outgoing = packet::Outgoing<Transport>;
  using State = FlowState;

 public:
  MessageOrder(FlowTable<Transport>& flows, Sender<Transport>& sender)
      : flows_(flows), net_(flows.net), set_(flows.set), sender_(sender) {}

  /// Puts a message behind those that its connection was given before; returns whether there were.
  bool join(std::uint32_t flow) {
    Connection& all = flows_.connections.of(flow);
    if (all.last == kNone) {
      all = {.first = flow, .last = flow, .sending = flow, .oldest = flow};
      return false;
    }
    const std::uint32_t before = std::exchange(all.last, flow);
    flows_.connections.message(flow).begin_bytes =
        flows_.connections.message(before).begin_bytes + flows_.extent(before).size_bytes;
    flows_.out[before].after = flow;
    flows_.out[flow].behind = flows_.is_unsent(before);
    if (!flows_.out[flow].behind) {
      all.sending = flow;
    }
    Outgoing& keeper = flows_.out[all.first];
    const Idle idle{.lasted = net_.now - all.sent_at, .timeout = set_.timeout_ps};
    keeper.allowed = flows_.control->on_idle(all.first, keeper.line, idle);
    return true;
  }

  /// Lets the next message go once this one has been sent.
  void let_next_send(std::uint32_t flow) {
    const std::uint32_t next = flows_.out[flow].after;
    if (next == kNone || !flows_.out[next].behind || flows_.is_unsent(flow)) {
      return;
    }
    flows_.out[next].behind = false;
    flows_.connections.of(flow).sending = next;
    sender_.offer(next);
    net_.wake_later(flows_.out[next].link);  // another port's flow may be the one that is kicked
  }

  /// Updates what of a message is in flight.
  void update_flight(std::uint32_t flow) {
    const Outgoing& out = flows_.out[flow];
    Connection& all = flows_.connections.of(flow);
    Message& message = flows_.connections.message(flow);
    const bool done = out.state == State::kDone;
    const auto out_bytes = flows_.transport.in_flight(out.sender, flows_.extent(flow));
    const auto own = done ? std::int64_t{0} : static_cast<std::int64_t>(out_bytes);
    all.flight_bytes += own - std::exchange(message.flight_bytes, own);
    const bool repeats = !done && !flows_.is_unsent(flow) &&
                         flows_.transport.has_work(out.sender, flows_.extent(flow));
    all.num_repeating += (repeats ? 1U : 0U) - (std::exchange(message.repeats, repeats) ? 1U : 0U);
    while (flows_.out[all.oldest].state == State::kDone && flows_.out[all.oldest].after != kNone) {
      all.oldest = flows_.out[all.oldest].after;
    }
  }

  void resume_all(std::uint32_t flow) {
    const Connection& all = flows_.connections.of(flow);
    sender_.arm(all.first);
    sender_.offer(flow);
    if (all.num_repeating != 0) {
      for (std::uint32_t one = all.oldest; one != all.sending; one = flows_.out[one].after) {
        sender_.offer(one);
      }
    }
    if (all.sending != flow) {
      sender_.offer(all.sending);
    }
  }

 private:
  FlowTable<Transport>& flows_;
  Network& net_;
  const HostSettings& set_;
  Sender<Transport>& sender_;
};

}  // namespace netloom::packet
