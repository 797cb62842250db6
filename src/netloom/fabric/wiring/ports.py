"""Endpoints with several ports: over how many a pair can talk, and which connection takes which.

Accelerators with ports of their own (Gaudi 3: HCCL stripes a transfer over all scale-out ports;
recalled), NICs in several planes, and parallel scale-up links. Both ends of a connection have an
address each, so neither a sender nor the last switch hashes: connections of a pair take its ports
in turn, at both ends alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["most_ports", "num_ports", "repeats_every", "stripes", "turns"]

# Turns are counted modulo this: the same port comes up whether up to ten ports or sixteen share.
_ROUND: Final = 65_520


def num_ports(
    wiring: PacketTopology, source: NDArray[np.integer], target: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return how many links each source has towards its target; a direct one before any other."""
    at, to = source.astype(np.int64), target.astype(np.int64)
    straight = wiring.link_target < wiring.num_endpoints
    straight &= wiring.link_source < wiring.num_endpoints
    chosen = wiring.choices[at, wiring.goal[to]]
    count = (wiring.offsets[chosen + 1] - wiring.offsets[chosen]).astype(np.int64)
    if not straight.any():
        return count
    keys = wiring.link_source[straight].astype(np.int64) * wiring.num_endpoints
    keys = np.sort(keys + wiring.link_target[straight])
    wanted = at * wiring.num_endpoints + to
    direct = np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)
    return np.where(direct > 0, direct, count)


def most_ports(wiring: PacketTopology) -> int:
    """Return the most ports that an endpoint has, scale-up links apart."""
    into = (wiring.link_target < wiring.num_endpoints) & ~wiring.link_scale_up
    return int(np.bincount(wiring.link_target[into]).max(initial=1))


def stripes(
    wiring: PacketTopology,
    source: NDArray[np.integer],
    target: NDArray[np.integer],
    *,
    connections: int,
) -> int:
    """Return over how many connections transfers of these pairs go: as many on every port.

    That is *connections*, or the next multiple of the most ports that a pair has.
    """
    most = int(num_ports(wiring, source, target).max(initial=1))
    return -(-connections // max(most, 1)) * max(most, 1)


def repeats_every(wiring: PacketTopology, count: int) -> bool:
    """Return whether connections take the ports that others of their pair *count* before took."""
    ports = {most_ports(wiring), *_fan_sizes(wiring)}
    return all(count % ports_here == 0 and _ROUND % ports_here == 0 for ports_here in ports)


def _fan_sizes(wiring: PacketTopology) -> set[int]:
    """Return how many links endpoints have towards a goal, and vertices straight to an endpoint."""
    chosen = np.unique(wiring.choices[: wiring.num_endpoints])
    size = wiring.offsets[chosen + 1] - wiring.offsets[chosen]
    straight = wiring.link_target < wiring.num_endpoints
    key = wiring.link_source[straight].astype(np.int64) * wiring.num_vertices
    beside = np.unique(key + wiring.link_target[straight], return_counts=True)[1]
    return set(np.unique(size[size > 0]).tolist()) | set(np.unique(beside).tolist())


def turns(source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.uint16]:
    """Return of each connection how many of its pair come before it."""
    key = source.astype(np.int64) * (int(target.max(initial=0)) + 1) + target
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.searchsorted(ordered, ordered)
    turn = np.empty(len(key), dtype=np.int64)
    turn[order] = np.arange(len(key)) - first
    return (turn % _ROUND).astype(np.uint16)
