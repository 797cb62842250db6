// Links that wait for each other in a circle.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/packet/network.hpp"

namespace netloom::packet {

/// Returns a circle of links, each of which has sent nothing for `patience` because the buffer it
/// leads to is full of packets for the next; empty when there is none.
std::vector<std::uint32_t> circle_of_waiting_links(Network& network, Time patience);

}  // namespace netloom::packet
