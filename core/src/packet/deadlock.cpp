#include "netloom/packet/switch/deadlock.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace netloom::packet {

namespace {

using Edges = std::map<std::uint32_t, std::set<std::uint32_t>>;

/// Link a waits for link b: a is held back, and packets that came by a stand still before b.
Edges waits(Network& net, Time patience) {
  Edges edges;
  const auto held = [&](std::uint32_t link) {
    const Port& port = net.port(link);
    return (port.waiting & port.paused) != 0 && port.busy_until + patience <= net.now;
  };
  for (std::uint32_t link = 0; link < net.ports.size(); ++link) {
    if (!held(link) || !net.port(link).from_switch) {
      continue;
    }
    for (std::uint32_t number = 1; number < net.num_lanes; ++number) {
      const auto lane = static_cast<std::uint8_t>(number);
      if (((net.port(link).paused >> lane) & 1U) == 0) {
        continue;
      }
      net.each_waiting(link, lane, [&](const Packet& packet) {
        if (packet.came_by != kNone && held(packet.came_by)) {
          edges[packet.came_by].insert(link);
        }
      });
    }
  }
  return edges;
}

/// Removes links that wait for none until what is left is circles and ways into them.
void prune(Edges& edges) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [link, next] : edges) {
      const std::size_t before = next.size();
      std::erase_if(next, [&](std::uint32_t to) {
        const auto found = edges.find(to);
        return found == edges.end() || found->second.empty();
      });
      changed = changed || next.size() != before;
    }
  }
  std::erase_if(edges, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace

std::vector<std::uint32_t> circle_of_waiting_links(Network& network, Time patience) {
  Edges edges = waits(network, patience);
  prune(edges);
  if (edges.empty()) {
    return {};
  }
  std::vector<std::uint32_t> walk{edges.begin()->first};
  while (true) {
    const std::uint32_t next = *edges[walk.back()].begin();
    const auto seen = std::ranges::find(walk, next);
    if (seen != walk.end()) {
      return {seen, walk.end()};
    }
    walk.push_back(next);
  }
}

}  // namespace netloom::packet
