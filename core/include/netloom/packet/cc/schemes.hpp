// The register of congestion control schemes; src/packet/schemes.cpp has the one list of them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "netloom/packet/cc/controllers.hpp"
#include "netloom/packet/cc/parameters.hpp"
#include "netloom/packet/cc/policy.hpp"

namespace netloom::packet::cc {

/// A scheme as the core knows it.
struct SchemeInfo {
  Traits traits;
  Reactions reactions;
  std::vector<std::pair<std::string, double>> parameters;  ///< With their defaults.
};

/// Every scheme, in the order of the list.
[[nodiscard]] std::vector<SchemeInfo> schemes();

/// The traits of a scheme.
/// @throws std::invalid_argument if there is none of that name.
[[nodiscard]] const Traits& traits_of(const std::string& scheme);

/// Controllers of a scheme for `num_flows` connections.
/// @throws std::invalid_argument for a scheme or a parameter that does not exist.
[[nodiscard]] ControllersPtr make_controllers(const std::string& scheme,
                                              Parameters parameters,
                                              std::size_t num_flows);

}  // namespace netloom::packet::cc
