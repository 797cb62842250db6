#include <algorithm>
#include <limits>

#include "netloom/packet/balance/switching.hpp"

namespace netloom::packet {

namespace {

/// Links from each vertex to the nearest endpoint.
std::vector<std::uint32_t> tiers(const Topology& t) {
  std::vector<std::uint32_t> tier(t.num_vertices, std::numeric_limits<std::uint32_t>::max());
  std::fill_n(tier.begin(), t.num_endpoints, 0U);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t link = 0; link < t.source.size(); ++link) {
      const auto from = static_cast<std::size_t>(t.source[link]);
      const auto to = static_cast<std::size_t>(t.target[link]);
      if (tier[from] < tier[to] && tier[from] + 1 < tier[to]) {
        tier[to] = tier[from] + 1;
        changed = true;
      }
    }
  }
  return tier;
}

/// The most links that lead from a vertex of each tier to a higher one.
std::vector<std::uint32_t> widths(const Topology& t, const std::vector<std::uint32_t>& tier) {
  std::vector<std::uint32_t> up(t.num_vertices);
  std::vector<std::uint32_t> width(t.num_vertices + 1, 1);
  for (std::size_t link = 0; link < t.source.size(); ++link) {
    const auto from = static_cast<std::size_t>(t.source[link]);
    if (tier[from] < tier[static_cast<std::size_t>(t.target[link])]) {
      const std::uint32_t at = std::min<std::uint32_t>(tier[from], t.num_vertices);
      width[at] = std::max(width[at], ++up[from]);
    }
  }
  return width;
}

/// The most links between an endpoint and switches, scale-up links apart.
std::uint32_t most_ports(const Topology& t) {
  std::vector<std::uint32_t> ports(t.num_endpoints);
  std::uint32_t most = 1;
  for (std::size_t link = 0; link < t.source.size(); ++link) {
    const auto to = static_cast<std::size_t>(t.target[link]);
    if (to < t.num_endpoints && t.uncontrolled[link] == 0) {
      most = std::max(most, ++ports[to]);
    }
  }
  return most;
}

}  // namespace

// Zahavi, D-Mod-K routing (CCIT Report 776, 2010; recalled): tier l takes the digit of weight
// w_1 ... w_(l-1), where w is the number of uplinks.
template <bool kByTarget>
Digits<kByTarget>::Digits(Network& network) {
  const Topology& t = network.config.topology;
  const auto tier = tiers(t);
  const auto width = widths(t, tier);
  num_ports_ = most_ports(t);
  stride_.assign(t.num_vertices, 1);
  for (std::size_t vertex = t.num_endpoints; vertex < t.num_vertices; ++vertex) {
    for (std::uint32_t below = 1; below < std::min<std::uint32_t>(tier[vertex], 8); ++below) {
      stride_[vertex] *= width[below];
    }
  }
}

template class Digits<true>;
template class Digits<false>;

}  // namespace netloom::packet
