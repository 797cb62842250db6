// Which lane of a port goes next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// The lane whose turn it is in one table, among those in `able`; kControl when it has none.
///
/// Each turn lets its lane send until its bytes are used up, the last packet whole; a lane that has
/// nothing to send loses the rest of its turn.
inline std::uint8_t next_turn(const std::vector<Turn>& table,
                              std::uint16_t able,
                              std::uint8_t& turn,
                              std::int32_t& left) {
  for (std::size_t tried = 0; tried <= table.size(); ++tried) {
    if (left > 0 && ((able >> table[turn].lane) & 1U) != 0) {
      return table[turn].lane;
    }
    turn = static_cast<std::uint8_t>(turn + 1U < table.size() ? turn + 1 : 0);
    left = static_cast<std::int32_t>(table[turn].bytes);
  }
  return kControl;
}

/// InfiniBand's arbitration: the high table, until `limit_bytes` of it have passed, then one packet
/// of the low table if one waits. Lanes in neither table come last.
///
/// `size_of` gives the size of the packet that a lane would send.
template <class SizeOf>
std::uint8_t arbitrate(Network& net, std::uint32_t link, std::uint16_t able, SizeOf size_of) {
  const Arbitration& set = net.config.switches.arbitration;
  Arbiter& at = net.arbiters[link];
  const auto blocks_of = [&size_of](std::uint8_t lane) {
    return static_cast<std::int32_t>((size_of(lane) + 63U) / 64U * 64U);
  };
  const std::uint8_t high =
      set.high.empty() ? kControl : next_turn(set.high, able, at.turn[0], at.left[0]);
  const bool spent = set.limit_bytes >= 0 && at.limit_left <= 0;
  if (high == kControl || spent) {
    const std::uint8_t low =
        set.low.empty() ? kControl : next_turn(set.low, able, at.turn[1], at.left[1]);
    at.limit_left = std::max<std::int64_t>(set.limit_bytes, 1);
    if (low != kControl) {
      at.left[1] -= blocks_of(low);
      return low;
    }
  }
  if (high == kControl) {
    return static_cast<std::uint8_t>(std::countr_zero(able));
  }
  at.left[0] -= blocks_of(high);
  at.limit_left -= blocks_of(high);
  return high;
}

/// The control lane first; then strict priority (the lowest lane), or deficit round robin by weight
/// (Shreedhar and Varghese, SIGCOMM 1995; recalled) among lanes that have one.
///
/// `size_of` gives the size of the packet that a lane would send.
template <class SizeOf>
std::uint8_t next_lane(Network& net, std::uint32_t link, std::uint16_t able, SizeOf size_of) {
  const auto lowest = static_cast<std::uint8_t>(std::countr_zero(able));
  const auto& weight = net.config.switches.weight;
  if (lowest != kControl && !net.arbiters.empty()) {
    return arbitrate(net, link, able, size_of);
  }
  if (lowest == kControl || weight.empty() || (able & (able - 1)) == 0) {
    return lowest;
  }
  Port& port = net.port(link);
  while (true) {
    const auto lane = port.turn;
    if (lane < net.num_lanes && ((able >> lane) & 1U) != 0) {
      Queue& queue = net.queue(link, lane);
      const auto size = static_cast<std::int32_t>(size_of(lane));
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

/// The same of a switch's port, whose queues hold what goes next.
inline std::uint8_t next_lane(Network& net, std::uint32_t link, std::uint16_t able) {
  return next_lane(net, link, able, [&net, link](std::uint8_t lane) {
    return net.pool[net.queue(link, lane).head].size_bytes;
  });
}

}  // namespace netloom::packet
