"""How many rings fit side by side on a scale-up network of direct links.

A ring keeps one link of every GPU busy in each direction, so what an all-reduce achieves on
direct links is the number of edge-disjoint rings times what one link carries.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

from netloom.fabric.scale_up import HYBRID_CUBE_MESH

__all__ = ["cube_mesh_links", "num_rings"]

_MAX_SEARCHED = 8

Links = tuple[tuple[int, int, int], ...]


def cube_mesh_links(num_gpus: int, num_links: int) -> Links:
    """Return ``(gpu, gpu, links)`` among the first *num_gpus* of a hybrid cube mesh.

    With 4 links a GPU every pair has one; with 6 the pairs are doubled as in a DGX-1V.
    """
    doubled = num_links >= 6
    return tuple(
        (low, high, count if doubled else 1)
        for (low, high), count in HYBRID_CUBE_MESH.items()
        if high < num_gpus
    )


@cache
def num_rings(num_gpus: int, links: Links) -> int:
    """Return how many rings, one way round each, can use *links* at once.

    Each link carries one ring in each direction, so a Hamiltonian cycle of the undirected
    graph counts twice. Where some GPU has a single neighbour no such cycle exists, and the
    ring passes through that neighbour a second time: as many rings as the thinnest such
    attachment has links.
    """
    assert 2 <= num_gpus <= _MAX_SEARCHED, num_gpus
    free = {(low, high): count for low, high, count in links}
    if num_gpus == 2:
        return free.get((0, 1), 0)
    packed = 2 * _pack(num_gpus, free)
    return packed or _through_a_neighbour(num_gpus, free)


def _pack(num_gpus: int, free: dict[tuple[int, int], int]) -> int:
    """Return the most edge-disjoint Hamiltonian cycles, by exhaustive search."""
    bound = min(_degree(gpu, free) for gpu in range(num_gpus)) // 2
    best = 0
    for cycle in _cycles(num_gpus, free, (0,)):
        rest = dict(free)
        for edge in cycle:
            rest[edge] -= 1
        best = max(best, 1 + _pack(num_gpus, rest))
        if best == bound:
            break
    return best


def _cycles(
    num_gpus: int, free: dict[tuple[int, int], int], path: tuple[int, ...]
) -> list[tuple[tuple[int, int], ...]]:
    if len(path) == num_gpus:
        closed = (*path, 0)
        edges = tuple(_edge(a, b) for a, b in pairwise(closed))
        # Each cycle is found in both directions; keep the one that starts towards the lower GPU.
        return [edges] if free.get(edges[-1], 0) > 0 and path[1] < path[-1] else []
    found: list[tuple[tuple[int, int], ...]] = []
    for gpu in range(1, num_gpus):
        if gpu not in path and free.get(_edge(path[-1], gpu), 0) > 0:
            found += _cycles(num_gpus, free, (*path, gpu))
    return found


def _through_a_neighbour(num_gpus: int, free: dict[tuple[int, int], int]) -> int:
    counts = [free[edge] for edge in combinations(range(num_gpus), 2) if free.get(edge, 0) > 0]
    lonely = [
        sum(free.get(_edge(gpu, other), 0) for other in range(num_gpus) if other != gpu)
        for gpu in range(num_gpus)
        if sum(free.get(_edge(gpu, other), 0) > 0 for other in range(num_gpus) if other != gpu) == 1
    ]
    return min(lonely, default=min(counts, default=0))


def _degree(gpu: int, free: dict[tuple[int, int], int]) -> int:
    return sum(count for edge, count in free.items() if gpu in edge)


def _edge(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
