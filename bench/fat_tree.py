"""A three-tier fat tree as a Wiring, for benchmarks at any size."""

from __future__ import annotations

import numpy as np

from netloom.fabric.wiring.wiring import PacketTopology

RATE_BPS = 400e9


def fat_tree(
    radix: int, *, rate_bps: float = RATE_BPS, delay_ps: int = 0, forward_ps: int = 0
) -> PacketTopology:
    """Return radix^3/4 hosts; goals are the hosts of one edge switch."""
    half = radix // 2
    hosts, edges = radix * half * half, radix * half
    edge0, agg0, core0 = hosts, hosts + edges, hosts + 2 * edges
    num_vertices = core0 + half * half
    host = np.arange(hosts)
    edge, up = np.divmod(np.arange(edges * half), half)
    agg, top = edge, up
    cables = np.concatenate(
        [
            np.stack([host, edge0 + host // half], axis=1),
            np.stack([edge0 + edge, agg0 + edge // half * half + up], axis=1),
            np.stack([agg0 + agg, core0 + agg % half * half + top], axis=1),
        ]
    )
    source = cables.reshape(-1).astype(np.int32)
    target = cables[:, ::-1].reshape(-1).astype(np.int32)
    choices, offsets, links = _next_links(radix, hosts, edges, num_vertices)
    forward = np.full(num_vertices, forward_ps, dtype=np.int64)
    forward[:hosts] = 0
    return PacketTopology(
        num_endpoints=hosts,
        name=tuple(f"v{i}" for i in range(num_vertices)),
        link_source=source,
        link_target=target,
        link_rate_bps=np.full(len(source), rate_bps),
        link_delay_ps=np.full(len(source), delay_ps, dtype=np.int64),
        link_scale_up=np.zeros(len(source), dtype=bool),
        forward_ps=forward,
        goal=(host // half).astype(np.int32),
        choices=choices,
        offsets=offsets,
        links=links,
    )


def _next_links(
    radix: int, hosts: int, edges: int, num_vertices: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up by any uplink, down by the only one; set 0 is empty."""
    half = radix // 2
    edge0, agg0, core0 = hosts, hosts + edges, hosts + 2 * edges
    first, second = 2 * hosts, 2 * (hosts + edges * half)  # link of the first cable of each tier
    sets: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
    choices = np.zeros((num_vertices, edges), dtype=np.int32)
    goal = np.arange(edges)
    for h in range(hosts):
        choices[h] = len(sets)
        sets.append(np.array([2 * h]))
    for e in range(edges):
        choices[edge0 + e] = len(sets)
        choices[edge0 + e, e] = 0
        sets.append(first + 2 * (e * half + np.arange(half)))
    for a in range(edges):
        pod = a // half
        choices[agg0 + a] = len(sets)
        sets.append(second + 2 * (a * half + np.arange(half)))
        for e in range(pod * half, (pod + 1) * half):
            choices[agg0 + a, e] = len(sets)
            sets.append(np.array([first + 2 * (e * half + a % half) + 1]))
    for c in range(half * half):
        for pod in range(radix):
            agg = pod * half + c // half
            choices[core0 + c, goal // half == pod] = len(sets)
            sets.append(np.array([second + 2 * (agg * half + c % half) + 1]))
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return choices, offsets, np.concatenate(sets).astype(np.int32)
