// Small networks for the packet simulator's tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "netloom/packet/config.hpp"

namespace netloom::test {

using netloom::packet::Config;
using netloom::packet::Time;
using netloom::packet::Topology;
using netloom::packet::Work;

/// Adds the links from a vertex of such a network towards the leaf `goal`.
inline void lead(Topology& t,
                 std::uint32_t vertex,
                 std::uint32_t goal,
                 std::uint32_t spines,
                 std::uint32_t ports) {
  const std::uint32_t first = 2 * t.num_endpoints * ports;
  const auto add = [&t](std::uint32_t link) { t.links.push_back(static_cast<std::int32_t>(link)); };
  if (vertex < t.num_endpoints) {
    for (std::uint32_t port = 0; port < ports; ++port) {
      add(2 * (vertex * ports + port));
    }
    return;
  }
  const std::uint32_t place = vertex - t.num_endpoints;
  if (place >= t.num_goals) {
    add(first + 2 * (goal * spines + place - t.num_goals) + 1);
    return;
  }
  for (std::uint32_t spine = 0; spine < spines && place != goal; ++spine) {
    add(first + 2 * (place * spines + spine));
  }
}

/// Hosts on leaves by `ports` cables each, leaves on spines; every cable 100 Gb/s and `delay_ps`
/// long.
inline Topology leaf_spine(std::uint32_t leaves,
                           std::uint32_t hosts,
                           std::uint32_t spines,
                           Time delay_ps,
                           std::uint32_t ports = 1) {
  Topology t;
  t.num_endpoints = leaves * hosts;
  t.num_vertices = t.num_endpoints + leaves + spines;
  t.num_goals = leaves;
  const auto cable = [&t, delay_ps](std::uint32_t a, std::uint32_t b) {
    t.source.insert(t.source.end(), {static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)});
    t.target.insert(t.target.end(), {static_cast<std::int32_t>(b), static_cast<std::int32_t>(a)});
    t.rate_bps.insert(t.rate_bps.end(), 2, 100'000'000'000);
    t.delay_ps.insert(t.delay_ps.end(), 2, delay_ps);
    t.uncontrolled.insert(t.uncontrolled.end(), 2, 0);
  };
  for (std::uint32_t host = 0; host < t.num_endpoints; ++host) {
    for (std::uint32_t port = 0; port < ports; ++port) {
      cable(host, t.num_endpoints + host / hosts);
    }
    t.goal.push_back(static_cast<std::int32_t>(host / hosts));
  }
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      cable(t.num_endpoints + leaf, t.num_endpoints + leaves + spine);
    }
  }
  t.forward_ps.assign(t.num_vertices, 0);
  t.digit.assign(t.source.size(), 1);  // the first tier alone has a choice
  t.number.resize(std::size_t{t.num_endpoints} * ports);
  std::iota(t.number.begin(), t.number.end(), 0U);
  t.offsets = {0, 0};
  for (std::uint32_t vertex = 0; vertex < t.num_vertices; ++vertex) {
    for (std::uint32_t goal = 0; goal < leaves; ++goal) {
      t.choices.push_back(static_cast<std::int32_t>(t.offsets.size() - 1));
      lead(t, vertex, goal, spines, ports);
      t.offsets.push_back(static_cast<std::int64_t>(t.links.size()));
    }
  }
  return t;
}

inline void add_transfer(Work& work,
                         std::uint32_t from,
                         std::uint32_t to,
                         std::int64_t size_bytes) {
  work.source.push_back(static_cast<std::int32_t>(from));
  work.target.push_back(static_cast<std::int32_t>(to));
  work.size_bytes.push_back(size_bytes);
  work.start_ps.push_back(0);
  work.delay_ps.push_back(0);
  work.entropy.push_back(static_cast<std::uint16_t>(work.source.size() * 7));
  work.lane.push_back(1);
  work.wait_offsets.push_back(static_cast<std::int64_t>(work.waits.size()));
}

inline Config config(Topology topology) {
  Config c;
  const std::size_t links = topology.source.size();
  c.switches.buffer_bytes.assign(topology.num_vertices, 4'000'000);
  c.switches.headroom_bytes.assign(links, 60'000);
  c.switches.alpha.assign(links, 0.125);
  c.switches.kmin_bytes.assign(links, 20'000);
  c.switches.queue_bytes.assign(links, 0);
  c.switches.kmax_bytes.assign(links, 80'000);
  c.switches.pmax.assign(links, 0.2);
  c.switches.resume_bytes = 3'072;
  c.hosts.cnp_interval_ps = 50'000'000;
  c.hosts.timeout_ps = 200'000'000;
  c.hosts.nack_interval_ps = 50'000'000;
  c.hosts.pull_bytes = 4'096;
  c.hosts.num_paths = 16;
  c.watch.max_pauses = 1'000;
  c.watch.deadlock_every_ps = 1'000'000'000;
  c.topology = std::move(topology);
  c.work.wait_offsets = {0};
  c.link_control = "pfc";
  c.balance = "ecmp";
  c.transport = "go-back-n";
  c.congestion_control = "none";
  return c;
}

}  // namespace netloom::test
