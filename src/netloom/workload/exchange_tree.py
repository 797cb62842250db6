"""All-reduce over two binary trees, as NCCL does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.workload.dag import Dag, beside
from netloom.workload.exchange import IN_FLIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["double_tree"]


def double_tree(
    nodes: Sequence[NDArray[np.int64]], size_bytes: int, *, channels: int = 1, slices: int = 8
) -> Dag:
    """Return an all-reduce over two trees, each with half of the bytes.

    The nodes form a binary tree and its mirror image (Sanders, Speck and Traff 2009; NCCL 2.4,
    trees.cc), the members of a node a chain to the one that speaks for it: member c in
    channel c. Sums go up, the result comes down, slice after slice.

    Raises:
        SpecError: there are fewer bytes than pieces.
    """
    num_pieces = 2 * channels * slices
    if size_bytes < num_pieces:
        raise SpecError(
            what=f"tree: {size_bytes} bytes cannot be cut into {num_pieces} pieces",
            remedy="give more",
        )
    bounds = [turn * size_bytes // (2 * channels) for turn in range(2 * channels + 1)]
    dags = []
    for turn in range(2 * channels):
        turned = [np.roll(members, -((turn // 2) % len(members))) for members in nodes]
        parent = _parents(turned, mirrored=turn % 2 == 1)
        size = bounds[turn + 1] - bounds[turn]
        dags.append(_up_and_down(np.concatenate(turned), parent, size, slices=slices))
    return beside(dags)


def binary_tree(n: int) -> NDArray[np.int64]:
    """Return the parent of each of *n* nodes in NCCL's binary tree; -1 for the root, node 0."""
    node = np.arange(n)
    bit = node & -node
    up = (node ^ bit) | (bit << 1)
    up = np.where(up >= n, node ^ bit, up)
    return np.where(node == 0, -1, up)


def _parents(nodes: Sequence[NDArray[np.int64]], *, mirrored: bool) -> NDArray[np.int64]:
    """Return for each member, counted over all nodes, the member it sends to; -1 for the root."""
    n = len(nodes)
    above = binary_tree(n)
    if mirrored and n % 2 == 0:
        above = np.where(above < 0, -1, n - 1 - above)[::-1]
    elif mirrored:
        above = np.roll(np.where(above < 0, -1, (above + 1) % n), 1)
    lengths = [len(members) for members in nodes]
    head = np.cumsum([0, *lengths[:-1]])
    parent = np.arange(sum(lengths)) - 1
    parent[head] = np.where(above < 0, -1, head[above])
    return parent


def _up_and_down(
    ranks: NDArray[np.int64], parent: NDArray[np.int64], size_bytes: int, *, slices: int
) -> Dag:
    """Return the sums on their way to the root and the result on its way back."""
    child = np.flatnonzero(parent >= 0)
    edge = np.full(len(ranks), -1, dtype=np.int64)
    edge[child] = np.arange(len(child))
    count = len(child)
    piece = np.arange(slices)

    def index(edges: NDArray[np.int64], *, down: bool) -> NDArray[np.int64]:
        return ((edges + down * count)[:, None] * slices + piece).reshape(-1)

    grand = child[edge[parent[child]] >= 0]  # those whose parent sends on
    under_root = child[edge[parent[child]] < 0]
    pairs = [
        (index(edge[parent[grand]], down=False), index(edge[grand], down=False)),
        (index(edge[grand], down=True), index(edge[parent[grand]], down=True)),
    ]
    for other in under_root.tolist():  # the root turns round when every child has sent
        mine = np.full(len(under_root), edge[other])
        pairs.append((index(edge[under_root], down=True), index(mine, down=False)))
    every = np.arange(2 * count * slices)
    queued = every[every % slices >= IN_FLIGHT]
    pairs.append((queued, queued - IN_FLIGHT))
    bounds = np.arange(slices + 1) * size_bytes // slices
    lower, upper = ranks[child], ranks[parent[child]]
    return Dag.of(
        np.repeat(np.concatenate([lower, upper]), slices),
        np.repeat(np.concatenate([upper, lower]), slices),
        np.tile(np.diff(bounds), 2 * count),
        waits=(np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])),
    )
