// Receivers that ask for data at the rate of their own port.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// For each endpoint, the flows that want a grant, in turn, and when the next may go out.
class Pulls {
 public:
  Pulls(Network& network, std::size_t num_flows)
      : net_(network), hosts_(network.config.topology.num_endpoints), flows_(num_flows) {}

  void ask(std::uint32_t endpoint, std::uint32_t flow) {
    if (flows_[flow].waiting) {
      return;
    }
    flows_[flow] = {.next = kNone, .waiting = true};
    Host& host = hosts_[endpoint];
    if (host.head == kNone) {
      host.head = flow;
    } else {
      flows_[host.tail].next = flow;
    }
    host.tail = flow;
    schedule(endpoint);
  }

  /// The flow whose turn it is; kNone when none waits.
  std::uint32_t take(std::uint32_t endpoint) {
    Host& host = hosts_[endpoint];
    const std::uint32_t flow = host.head;
    if (flow != kNone) {
      host.head = flows_[flow].next;
      flows_[flow].waiting = false;
    }
    return flow;
  }

  /// A turn is over, and the next one not before `next_at`.
  void done(std::uint32_t endpoint, Time next_at) {
    Host& host = hosts_[endpoint];
    host.next_at = next_at;
    host.scheduled = false;
    if (host.head != kNone) {
      schedule(endpoint);
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(hosts_);
    archive(flows_);
  }

 private:
  struct Host {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    Time next_at = 0;
    bool scheduled = false;
  };

  struct Flow {
    std::uint32_t next = kNone;
    bool waiting = false;
  };

  void schedule(std::uint32_t endpoint) {
    Host& host = hosts_[endpoint];
    if (!host.scheduled) {
      host.scheduled = true;
      net_.events.push(host.next_at > net_.now ? host.next_at : net_.now, Kind::kPull, endpoint);
    }
  }

  Network& net_;
  std::vector<Host> hosts_;
  std::vector<Flow> flows_;
};

}  // namespace netloom::packet
