// Equal flows folded into classes.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/flow.hpp"
#include "netloom/flow_share.hpp"

namespace netloom {

/// The distinct (links, shares, cap, weight) of a demand, in order of first use.
struct Folded {
  FlowClasses classes;
  std::vector<std::uint32_t> class_of;  ///< Of each part.
};

[[nodiscard]] Folded fold(const FlowDemand& demand);

}  // namespace netloom
