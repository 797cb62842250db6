"""Small wirings and transfers for the packet simulator's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.wiring.wiring import PacketTopology
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def wiring(
    num_endpoints: int,
    cables: Sequence[tuple[int, int]],
    *,
    rate_bps: float | Sequence[float] = 100e9,
    delay_ps: int | Sequence[int] = 1_000_000,
    forward_ps: int = 0,
) -> PacketTopology:
    """Return endpoints and switches joined by *cables*, with every shortest way between them.

    Cable i is links 2i (first to second vertex) and 2i + 1. Each endpoint is its own goal.
    """
    num_vertices = max(max(pair) for pair in cables) + 1
    source = np.array([v for a, b in cables for v in (a, b)], dtype=np.int32)
    target = np.array([v for a, b in cables for v in (b, a)], dtype=np.int32)
    choices, offsets, links = _shortest(num_endpoints, num_vertices, source, target)
    forward = np.full(num_vertices, forward_ps, dtype=np.int64)
    forward[:num_endpoints] = 0
    return PacketTopology(
        num_endpoints=num_endpoints,
        name=tuple(f"v{v}" for v in range(num_vertices)),
        link_source=source,
        link_target=target,
        link_rate_bps=np.repeat(np.broadcast_to(np.asarray(rate_bps, float), len(cables)), 2),
        link_delay_ps=np.repeat(np.broadcast_to(np.asarray(delay_ps, np.int64), len(cables)), 2),
        link_scale_up=np.zeros(len(source), dtype=bool),
        forward_ps=forward,
        goal=np.arange(num_endpoints, dtype=np.int32),
        choices=choices,
        offsets=offsets,
        links=links,
    )


def _shortest(
    num_endpoints: int,
    num_vertices: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    choices = np.zeros((num_vertices, num_endpoints), dtype=np.int32)
    offsets: list[int] = [0, 0]
    links: list[int] = []
    for goal in range(num_endpoints):
        far = np.full(num_vertices, 1 << 20)
        far[goal] = 0
        for _ in range(num_vertices):
            through = far[target] + 1
            through[target < num_endpoints] = np.where(
                target[target < num_endpoints] == goal, 1, 1 << 20
            )
            np.minimum.at(far, source, through)
        for vertex in range(num_vertices):
            if vertex == goal or far[vertex] >= 1 << 20:
                continue
            best = [
                link
                for link in np.flatnonzero(source == vertex).tolist()
                if far[target[link]] == far[vertex] - 1
                and (target[link] >= num_endpoints or target[link] == goal)
            ]
            choices[vertex, goal] = len(offsets) - 1
            links += best
            offsets.append(len(links))
    return choices, np.array(offsets, dtype=np.int64), np.array(links, dtype=np.int32)


def star(num_endpoints: int, **keywords: object) -> PacketTopology:
    """Return endpoints on one switch."""
    cables = [(e, num_endpoints) for e in range(num_endpoints)]
    return wiring(num_endpoints, cables, **keywords)  # type: ignore[arg-type]


def leaf_spine(
    num_leaves: int, num_hosts: int, num_spines: int, **keywords: object
) -> PacketTopology:
    """Return *num_hosts* endpoints on each leaf, and every leaf joined to every spine."""
    ends = num_leaves * num_hosts
    cables = [(e, ends + e // num_hosts) for e in range(ends)]
    cables += [
        (ends + leaf, ends + num_leaves + spine)
        for leaf in range(num_leaves)
        for spine in range(num_spines)
    ]
    return wiring(ends, cables, **keywords)  # type: ignore[arg-type]


def transfers(
    pairs: Sequence[tuple[int, int]],
    size_bytes: int | Sequence[int],
    *,
    start_ps: int | Sequence[int] = 0,
    delay_ps: int | Sequence[int] = 0,
    priority: int | Sequence[int] = 0,
    waits: Sequence[Sequence[int]] = (),
) -> Transfers:
    """Return one transfer for each pair."""
    count = len(pairs)
    before = list(waits) or [()] * count
    flat = [one for some in before for one in some]

    def column(value: int | Sequence[int]) -> NDArray[np.int64]:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.int64), count))

    return Transfers(
        source=np.array([a for a, _ in pairs], dtype=np.int32),
        target=np.array([b for _, b in pairs], dtype=np.int32),
        size_bytes=column(size_bytes),
        start_ps=column(start_ps),
        delay_ps=column(delay_ps),
        source_port=np.arange(count, dtype=np.uint16) * 7 + 49152,
        priority=column(priority).astype(np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.cumsum([0, *map(len, before)], dtype=np.int64),
        waits=np.array(flat, dtype=np.int32),
    )
