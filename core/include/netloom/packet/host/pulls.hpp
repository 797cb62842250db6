// Receivers that ask for data at the rate of their own port.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/packet/host/pull_pace.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// For each endpoint, the flows that want a grant, in turn, those that might use one beyond what
/// they asked for, and when the next grant may go out.
class Pulls {
 public:
  Pulls(Network& network, std::size_t num_flows)
      : net_(network),
        paces_(network.config),
        hosts_(network.config.topology.num_endpoints),
        flows_(num_flows) {}

  /// A data packet has come, or what is left of it.
  void note(const Packet& packet) { paces_.note(packet, net_.now); }

  /// What an endpoint now asks for, of what it may.
  [[nodiscard]] double share(std::uint32_t endpoint) { return paces_.share(endpoint, net_.now); }

  void ask(std::uint32_t endpoint, std::uint32_t flow) {
    append(hosts_[endpoint].asking, flow, &Flow::asking);
    schedule(endpoint);
  }

  /// The flow has been granted what it asked for: it gets more when no flow asks.
  void rest(std::uint32_t endpoint, std::uint32_t flow) {
    append(hosts_[endpoint].resting, flow, &Flow::resting);
    schedule(endpoint);
  }

  /// The flow whose turn it is; kNone when none asks.
  std::uint32_t take(std::uint32_t endpoint) {
    return first(hosts_[endpoint].asking, &Flow::asking);
  }

  /// The same of those that rest.
  std::uint32_t take_resting(std::uint32_t endpoint) {
    return first(hosts_[endpoint].resting, &Flow::resting);
  }

  /// A turn is over, and the next one not before `next_at`.
  void done(std::uint32_t endpoint, Time next_at) {
    Host& host = hosts_[endpoint];
    host.next_at = next_at;
    host.scheduled = false;
    if (host.asking.head != kNone || host.resting.head != kNone) {
      schedule(endpoint);
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    paces_.visit(archive);
    archive(hosts_);
    archive(flows_);
  }

 private:
  struct Line {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };

  struct Host {
    Line asking;
    Line resting;
    Time next_at = 0;
    bool scheduled = false;
  };

  /// A flow's place in one line.
  struct Place {
    std::uint32_t next = kNone;
    bool taken = false;
  };

  struct Flow {
    Place asking;
    Place resting;
  };

  void append(Line& line, std::uint32_t flow, Place Flow::* place) {
    if ((flows_[flow].*place).taken) {
      return;
    }
    flows_[flow].*place = {.next = kNone, .taken = true};
    if (line.head == kNone) {
      line.head = flow;
    } else {
      (flows_[line.tail].*place).next = flow;
    }
    line.tail = flow;
  }

  std::uint32_t first(Line& line, Place Flow::* place) {
    const std::uint32_t flow = line.head;
    if (flow != kNone) {
      line.head = (flows_[flow].*place).next;
      (flows_[flow].*place).taken = false;
    }
    return flow;
  }

  void schedule(std::uint32_t endpoint) {
    Host& host = hosts_[endpoint];
    if (!host.scheduled) {
      host.scheduled = true;
      net_.events.push(host.next_at > net_.now ? host.next_at : net_.now, Kind::kPull, endpoint);
    }
  }

  Network& net_;
  PullPaces paces_;
  std::vector<Host> hosts_;
  std::vector<Flow> flows_;
};

}  // namespace netloom::packet
