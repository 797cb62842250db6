"""Closed forms of the collective algorithms, the bounds that any library is held to.

``alpha_s`` is what one step costs whatever its size, ``rate_bps`` what one rank can send while
it receives as much, ``size_bytes`` the collective's size as nccl-tests counts it. The forms are
those of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005), unless a function says otherwise.
"""

from __future__ import annotations

import math


def ring_all_reduce_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return 2(n-1) steps of size/n each: bandwidth-optimal."""
    steps = 2 * (num_ranks - 1)
    return steps * (alpha_s + size_bytes / num_ranks * 8 / rate_bps)


def ring_all_gather_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return n-1 steps of size/n each; a reduce-scatter takes as long."""
    return (num_ranks - 1) * (alpha_s + size_bytes / num_ranks * 8 / rate_bps)


def double_tree_all_reduce_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return the pipelined form of two complementary binary trees.

    Each rank is an inner vertex of one tree and a leaf of the other, so it sends every byte
    twice: Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast,
    reduction and scan" (2009).
    """
    return 2 * math.ceil(math.log2(num_ranks)) * alpha_s + 2 * size_bytes * 8 / rate_bps


def halving_doubling_all_reduce_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return recursive halving, then doubling.

    Where n is no power of two, the surplus ranks first hand their vector to a partner and get
    the result back: two more steps with the whole vector.
    """
    depth = int(math.log2(num_ranks))
    core = 1 << depth
    time_s = 2 * depth * alpha_s + 2 * (core - 1) / core * size_bytes * 8 / rate_bps
    if core == num_ranks:
        return time_s
    return time_s + 2 * (alpha_s + size_bytes * 8 / rate_bps)


def pairwise_all_to_all_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return n-1 exchanges of size/n with one partner each."""
    return (num_ranks - 1) * (alpha_s + size_bytes / num_ranks * 8 / rate_bps)


def bruck_all_to_all_s(
    num_ranks: int, size_bytes: float, *, alpha_s: float, rate_bps: float
) -> float:
    """Return log2(n) exchanges of half the data: for small messages."""
    return math.ceil(math.log2(num_ranks)) * (alpha_s + size_bytes / 2 * 8 / rate_bps)


def hierarchical_all_reduce_s(
    shape: tuple[int, int],
    size_bytes: float,
    *,
    alpha_s: tuple[float, float],
    rate_bps: tuple[float, float],
) -> float:
    """Return reduce-scatter in the node, all-reduce between nodes on rails, all-gather in it.

    Args:
        shape: Ranks in a node, and nodes.
        size_bytes: The vector that is reduced.
        alpha_s: Of a step inside, and between.
        rate_bps: What one rank sends inside a node, and what it sends on its own rail.
    """
    per_node, num_nodes = shape
    inside = ring_all_gather_s(per_node, size_bytes, alpha_s=alpha_s[0], rate_bps=rate_bps[0])
    shard = size_bytes / per_node
    between = ring_all_reduce_s(num_nodes, shard, alpha_s=alpha_s[1], rate_bps=rate_bps[1])
    return 2 * inside + between


def in_network_all_reduce_s(size_bytes: float, *, alpha_s: float, rate_bps: float) -> float:
    """Return an all-reduce whose sum is formed by the switches.

    Every rank sends the vector once and receives it once, at the same time: Graham et al.,
    "Scalable Hierarchical Aggregation Protocol (SHArP)" (2016).
    """
    return alpha_s + size_bytes * 8 / rate_bps
