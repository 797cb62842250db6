// Marks at dequeue, on what waits behind the packet in its egress queue.
#pragma once

#include <cstdint>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Nothing below Kmin, linear to Pmax at Kmax, everything above (HPCC-ns3 switch-mmu ShouldSendCN).
///
/// With `root_marks` the share Pmax of all above Kmin, whatever the queue, and only where
/// congestion has its root: a port that waits for credits is a victim (InfiniBand annex A10;
/// recalled).
inline bool marks(Network& net, std::uint32_t link, std::uint8_t lane) {
  const std::int64_t waiting = net.queue(link, lane).bytes;
  const SwitchSettings& set = net.config.switches;
  const std::int64_t low = set.kmin_bytes[link];
  if (waiting <= low) {
    return false;
  }
  if (set.root_marks) {
    return net.has_credit_for_more(link, lane) && net.random_at(link).uniform() < set.pmax[link];
  }
  const std::int64_t high = set.kmax_bytes[link];
  if (waiting > high) {
    return true;
  }
  const double share = static_cast<double>(waiting - low) / static_cast<double>(high - low);
  return net.random_at(link).uniform() < set.pmax[link] * share;
}

}  // namespace netloom::packet
