// Marks at dequeue, on what waits behind the packet in its egress queue.
#pragma once

#include <cstdint>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Nothing below Kmin, linear to Pmax at Kmax, everything above (HPCC-ns3 switch-mmu ShouldSendCN).
inline bool marks(Network& net, std::uint32_t link, std::uint8_t lane) {
  const std::int64_t waiting = net.queue(link, lane).bytes;
  const SwitchSettings& set = net.config.switches;
  const std::int64_t low = set.kmin_bytes[link];
  if (waiting <= low) {
    return false;
  }
  const std::int64_t high = set.kmax_bytes[link];
  if (waiting > high) {
    return true;
  }
  const double share = static_cast<double>(waiting - low) / static_cast<double>(high - low);
  return net.random.uniform() < set.pmax * share;
}

}  // namespace netloom::packet
