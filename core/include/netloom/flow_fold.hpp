// Equal flows folded into classes.
#pragma once

#include <cstdint>
#include <vector>

#include "netloom/flow.hpp"
#include "netloom/flow_share.hpp"

namespace netloom {

/// Flows of one set that are of one class: they start, move and end together.
struct Bundle {
  std::uint32_t flow_class;
  std::uint32_t count;
  std::uint32_t first;  ///< The first of its routes in the set.
};

/// The distinct (links, shares, weight) of a demand, in order of first use, and each set by them.
struct Folded {
  FlowClasses classes;
  std::vector<std::uint64_t> bundle_offsets;  ///< Where the bundles of each set begin.
  std::vector<Bundle> bundles;
};

[[nodiscard]] Folded fold(const FlowDemand& demand);

}  // namespace netloom
