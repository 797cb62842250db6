// Policies by name.
#pragma once

#include <memory>

#include "netloom/packet/network.hpp"
#include "netloom/packet/sides.hpp"

namespace netloom::packet {

using SwitchesPtr = std::unique_ptr<SwitchSide>;
using EndpointsPtr = std::unique_ptr<EndpointSide>;

/// Switches as the network's config wants them: `link_control` and `balance`.
/// @throws std::invalid_argument for one that does not exist.
[[nodiscard]] SwitchesPtr make_switches(Network& network);

/// Endpoints as the network's config wants them: `transport` and `congestion_control`.
/// @throws std::invalid_argument for one that does not exist, or does not go with the other.
[[nodiscard]] EndpointsPtr make_endpoints(Network& network);

}  // namespace netloom::packet
