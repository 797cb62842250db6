#include "netloom/flow_fold.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
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
        slots_(std::bit_ceil(2 * demand.size_bits.size() + 2), kFree) {}

  std::uint32_t find(std::size_t part) {
    std::size_t slot = hash(part) & (slots_.size() - 1);
    while (slots_[slot] != kFree && !same(slots_[slot], part)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    if (slots_[slot] == kFree) {
      slots_[slot] = append(part);
    }
    return slots_[slot];
  }

 private:
  [[nodiscard]] std::uint64_t hash(std::size_t part) const {
    std::uint64_t value = mixed(std::bit_cast<std::uint64_t>(demand_.cap_bps[part]),
                                std::bit_cast<std::uint64_t>(demand_.weight[part]));
    for (std::uint64_t e = demand_.route_offsets[part]; e < demand_.route_offsets[part + 1]; ++e) {
      value = mixed(value, demand_.links[e] + 1ULL);
    }
    return value;
  }

  [[nodiscard]] bool same(std::uint32_t c, std::size_t part) const {
    const std::uint64_t first = demand_.route_offsets[part];
    const std::uint64_t count = demand_.route_offsets[part + 1] - first;
    const std::uint64_t own = classes_.offsets[c];
    if (classes_.offsets[c + 1] - own != count || classes_.cap_bps[c] != demand_.cap_bps[part] ||
        classes_.weight[c] != demand_.weight[part]) {
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

  std::uint32_t append(std::size_t part) {
    const auto first = static_cast<std::ptrdiff_t>(demand_.route_offsets[part]);
    const auto last = static_cast<std::ptrdiff_t>(demand_.route_offsets[part + 1]);
    classes_.links.insert(
        classes_.links.end(), demand_.links.begin() + first, demand_.links.begin() + last);
    if (!demand_.shares.empty()) {
      classes_.shares.insert(
          classes_.shares.end(), demand_.shares.begin() + first, demand_.shares.begin() + last);
    }
    classes_.offsets.push_back(classes_.links.size());
    classes_.cap_bps.push_back(demand_.cap_bps[part]);
    classes_.weight.push_back(demand_.weight[part]);
    return static_cast<std::uint32_t>(classes_.size() - 1);
  }

  const FlowDemand& demand_;
  FlowClasses& classes_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

Folded fold(const FlowDemand& demand) {
  if (demand.links.size() >= kFree) {
    throw std::invalid_argument("run_flows: more than 2^32 links on all routes together");
  }
  Folded folded;
  folded.classes.offsets.push_back(0);
  folded.class_of.reserve(demand.size_bits.size());
  Finder finder(demand, folded.classes);
  for (std::size_t part = 0; part < demand.size_bits.size(); ++part) {
    folded.class_of.push_back(finder.find(part));
  }
  return folded;
}

}  // namespace netloom
