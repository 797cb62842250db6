"""A fat tree of hosts with one link each, as Al-Fares et al. (SIGCOMM 2008) draw it."""

from __future__ import annotations

import numpy as np

from netloom.fabric.wiring import Wiring

RATE_BPS = 400e9


def fat_tree(radix: int, *, rate_bps: float = RATE_BPS) -> Wiring:
    """Return k^3/4 hosts under k pods of k/2 edge and k/2 aggregation switches each."""
    half = radix // 2
    hosts, edges = radix * half * half, radix * half
    edge, aggregation, core = hosts, hosts + edges, hosts + 2 * edges
    pod, one, other = (axis.ravel() for axis in np.indices((radix, half, half)))
    host = np.arange(hosts)
    lower = np.concatenate([host, edge + pod * half + one, aggregation + pod * half + one])
    upper = np.concatenate(
        [edge + host // half, aggregation + pod * half + other, core + one * half + other]
    )
    num_links = 2 * len(lower)
    source, target = np.empty(num_links, np.int32), np.empty(num_links, np.int32)
    source[::2], source[1::2], target[::2], target[1::2] = lower, upper, upper, lower
    num_vertices = core + half * half
    choices, sets = _ways(radix, hosts, num_vertices)
    return Wiring(
        num_endpoints=hosts,
        name=tuple(f"vertex:{v}" for v in range(num_vertices)),
        link_source=source,
        link_target=target,
        link_rate_bps=np.full(num_links, rate_bps),
        link_delay_ps=np.zeros(num_links, np.int64),
        link_scale_up=np.zeros(num_links, np.bool_),
        forward_ps=np.zeros(num_vertices, np.int64),
        goal=(host // half).astype(np.int32),
        choices=choices,
        offsets=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        links=np.concatenate(sets).astype(np.int32),
    )


def _ways(radix: int, hosts: int, num_vertices: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the set of next links by vertex and edge switch; the first set is empty."""
    half = radix // 2
    edges = radix * half
    edge, aggregation, core = hosts, hosts + edges, hosts + 2 * edges
    choices = np.zeros((num_vertices, edges), np.int32)
    sets = [np.empty(0, np.int64)]
    up = np.arange(hosts) * 2

    def choose(vertices: slice | int, goals: slice | int, links: np.ndarray) -> None:
        choices[vertices, goals] = len(sets)
        sets.append(links)

    for host in range(hosts):
        choose(host, slice(None), up[host : host + 1])
    for switch in range(edges):
        first = slice(switch * half, (switch + 1) * half)
        choose(edge + switch, slice(None), 2 * hosts + up[first])
        choose(aggregation + switch, slice(None), 4 * hosts + up[first])
    for switch in range(edges):
        pod, place = divmod(switch, half)
        for leaf in range(half):  # down to an edge switch of its pod
            cable = (pod * half + leaf) * half + place
            choose(aggregation + switch, pod * half + leaf, 2 * hosts + up[cable : cable + 1] + 1)
    for switch in range(half * half):
        place, turn = divmod(switch, half)
        for pod in range(radix):
            cable = (pod * half + place) * half + turn
            goals = slice(pod * half, (pod + 1) * half)
            choose(core + switch, goals, 4 * hosts + up[cable : cable + 1] + 1)
    return choices, sets
