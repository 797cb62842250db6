// InfiniBand: a packet is sent only into room that was advertised.
#pragma once

#include "netloom/packet/link/pfc.hpp"
#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Input buffers by link and lane; the accounts are the network's, for endpoints keep them too.
class Credits {
 public:
  explicit Credits(Network& network)
      : net_(network) {}

  [[nodiscard]] Verdict admit(std::uint32_t in, std::uint32_t /*out*/, const Packet& packet) {
    if (!net_.ports[in].uncontrolled) {
      net_.enter_credit(in, packet);
    }
    return Verdict::kTake;
  }

  void depart(std::uint32_t in, const Packet& packet, Time leaves) {
    if (!net_.ports[in].uncontrolled) {
      net_.leave_credit(in, packet.lane, packet.size_bytes, leaves);
    }
  }

  void handle(const Event& /*event*/) {}

  void prefetch(std::uint32_t in, const Packet& packet) const {
    net_.expect_credit(in, packet.lane);
  }

  template <class Archive>
  void visit(Archive& /*archive*/) {}

 private:
  Network& net_;
};

}  // namespace netloom::packet
