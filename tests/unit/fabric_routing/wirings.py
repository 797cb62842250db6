"""Wirings small enough to check by eye."""

from __future__ import annotations

import numpy as np
import small

from netloom.fabric.wiring.wiring import PacketTopology


def leaf_spine(num_leaves: int, num_spines: int, num_hosts: int) -> PacketTopology:
    """Return what ``small.leaf_spine`` builds, without its NICs."""
    hosts = num_leaves * num_hosts
    leaf, spine = hosts, hosts + num_leaves
    cables = [(host, leaf + host // num_hosts) for host in range(hosts)]
    cables += [(leaf + i, spine + j) for i in range(num_leaves) for j in range(num_spines)]
    ends = np.array(cables, dtype=np.int32)
    sets: list[list[int]] = [[]]
    choices = np.zeros((spine + num_spines, num_leaves), dtype=np.int32)

    def choose(vertex: int, goal: int, links: list[int]) -> None:
        choices[vertex, goal] = len(sets)
        sets.append(links)

    for goal in range(num_leaves):
        for host in range(hosts):
            choose(host, goal, [2 * host])
        for i in range(num_leaves):
            if i != goal:
                choose(
                    leaf + i, goal, [2 * (hosts + i * num_spines + j) for j in range(num_spines)]
                )
        for j in range(num_spines):
            choose(spine + j, goal, [2 * (hosts + goal * num_spines + j) + 1])
    return PacketTopology(
        num_endpoints=hosts,
        name=tuple(f"v{i}" for i in range(spine + num_spines)),
        link_source=ends.reshape(-1),
        link_target=ends[:, ::-1].reshape(-1).copy(),
        link_rate_bps=np.full(2 * len(ends), small.RATE_BPS),
        link_delay_ps=np.zeros(2 * len(ends), dtype=np.int64),
        link_scale_up=np.zeros(2 * len(ends), dtype=np.bool_),
        forward_ps=np.zeros(spine + num_spines, dtype=np.int64),
        goal=(np.arange(hosts) // num_hosts).astype(np.int32),
        choices=choices,
        offsets=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        links=np.array([link for links in sets for link in links], dtype=np.int32),
    )
