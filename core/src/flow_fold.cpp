#include "netloom/flow_fold.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace netloom {

namespace {

constexpr std::uint32_t kFree = FairShare::kNone;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  // Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014): the finalizer.
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31U);
}

/// Finds classes by what they are; one slot in two at most is taken.
class Finder {
 public:
  Finder(const FlowDemand& demand, FlowClasses& classes)
      : demand_(demand),
        classes_(classes),
        slots_(std::bit_ceil(2 * demand.route_offsets.size()), kFree) {}

  std::uint32_t find(std::size_t route, double weight) {
    std::size_t slot = hash(route, weight) & (slots_.size() - 1);
    while (slots_[slot] != kFree && !same(slots_[slot], route, weight)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    if (slots_[slot] == kFree) {
      slots_[slot] = append(route, weight);
    }
    return slots_[slot];
  }

 private:
  [[nodiscard]] std::uint64_t hash(std::size_t route, double weight) const {
    std::uint64_t value = mixed(0, std::bit_cast<std::uint64_t>(weight));
    for (std::uint64_t e = demand_.route_offsets[route]; e < demand_.route_offsets[route + 1];
         ++e) {
      value = mixed(value, demand_.links[e] + 1ULL);
    }
    return value;
  }

  [[nodiscard]] bool same(std::uint32_t c, std::size_t route, double weight) const {
    const std::uint64_t first = demand_.route_offsets[route];
    const std::uint64_t count = demand_.route_offsets[route + 1] - first;
    const std::uint64_t own = classes_.offsets[c];
    if (classes_.offsets[c + 1] - own != count || classes_.weight[c] != weight) {
      return false;
    }
    const auto equal = [&](const auto& mine, const auto& theirs) {
      return std::equal(theirs.begin() + static_cast<std::ptrdiff_t>(first),
                        theirs.begin() + static_cast<std::ptrdiff_t>(first + count),
                        mine.begin() + static_cast<std::ptrdiff_t>(own));
    };
    return equal(classes_.links, demand_.links) &&
           (demand_.shares.empty() || equal(classes_.shares, demand_.shares));
  }

  std::uint32_t append(std::size_t route, double weight) {
    const auto first = static_cast<std::ptrdiff_t>(demand_.route_offsets[route]);
    const auto last = static_cast<std::ptrdiff_t>(demand_.route_offsets[route + 1]);
    classes_.links.insert(
        classes_.links.end(), demand_.links.begin() + first, demand_.links.begin() + last);
    if (!demand_.shares.empty()) {
      classes_.shares.insert(
          classes_.shares.end(), demand_.shares.begin() + first, demand_.shares.begin() + last);
    }
    classes_.offsets.push_back(classes_.links.size());
    classes_.cap_bps.push_back(std::numeric_limits<double>::infinity());
    classes_.weight.push_back(weight);
    return static_cast<std::uint32_t>(classes_.size() - 1);
  }

  const FlowDemand& demand_;
  FlowClasses& classes_;
  std::vector<std::uint32_t> slots_;
};

/// Append the bundles of one set, in order of their first routes.
void bundle(const FlowDemand& demand, std::size_t set, Finder& finder, Folded& folded) {
  const std::uint64_t first = demand.set_offsets[set];
  const auto begin = static_cast<std::ptrdiff_t>(folded.bundles.size());
  for (std::uint64_t route = first; route < demand.set_offsets[set + 1]; ++route) {
    const std::uint32_t c = finder.find(route, demand.weight[set]);
    const auto known = std::find_if(folded.bundles.begin() + begin,
                                    folded.bundles.end(),
                                    [c](const Bundle& one) { return one.flow_class == c; });
    if (known != folded.bundles.end()) {
      ++known->count;
      continue;
    }
    const auto place = static_cast<std::uint32_t>(route - first);
    folded.bundles.push_back({.flow_class = c, .count = 1, .first = place});
  }
}

}  // namespace

Folded fold(const FlowDemand& demand) {
  if (demand.links.size() >= kFree) {
    throw std::invalid_argument("run_flows: more than 2^32 links on all routes together");
  }
  Folded folded;
  folded.classes.offsets.push_back(0);
  folded.bundle_offsets.push_back(0);
  Finder finder(demand, folded.classes);
  for (std::size_t set = 0; set + 1 < demand.set_offsets.size(); ++set) {
    bundle(demand, set, finder, folded);
    folded.bundle_offsets.push_back(folded.bundles.size());
  }
  return folded;
}

}  // namespace netloom
