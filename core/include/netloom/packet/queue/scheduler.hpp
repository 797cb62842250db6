// Which lane of a port goes next.
#pragma once

#include <bit>
#include <cstdint>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// The control lane first; then strict priority (the lowest lane), or deficit round robin by weight
/// (Shreedhar and Varghese, SIGCOMM 1995; recalled) among lanes that have one.
inline std::uint8_t next_lane(Network& net, std::uint32_t link, std::uint16_t able) {
  const auto lowest = static_cast<std::uint8_t>(std::countr_zero(able));
  const auto& weight = net.config.switches.weight;
  if (lowest == kControl || weight.empty() || (able & (able - 1)) == 0) {
    return lowest;
  }
  Port& port = net.port(link);
  while (true) {
    const auto lane = port.turn;
    if (lane < net.num_lanes && ((able >> lane) & 1U) != 0) {
      Queue& queue = net.queue(link, lane);
      const auto size = static_cast<std::int32_t>(net.pool[queue.head].size_bytes);
      if (queue.deficit >= size) {
        queue.deficit -= size;
        return lane;
      }
    }
    port.turn = lane + 1U < net.num_lanes ? static_cast<std::uint8_t>(lane + 1) : 1;
    if (((able >> port.turn) & 1U) != 0) {
      net.queue(link, port.turn).deficit += static_cast<std::int32_t>(weight[port.turn]);
    } else {
      net.queue(link, port.turn).deficit = 0;
    }
  }
}

}  // namespace netloom::packet
