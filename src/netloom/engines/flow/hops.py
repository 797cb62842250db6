"""Which nodes send to which in one step of a collective, for all groups of a job at once.

Groups lie end to end over the cluster as :class:`~netloom.workload.collective.Group` says, and
every rank that communicates sends over its own NIC, as NCCL's channels and PXN make it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.engines.base import Pattern
    from netloom.fabric.network import Network
    from netloom.workload.collective import Group

    Hops = tuple[NDArray[np.int64], NDArray[np.int64], float]

__all__ = ["check_span", "gpu_hops", "num_senders", "placed_nodes"]

# Flows of an all-to-all that are routed; of more, evenly spaced shifts stand for all.
MAX_FLOWS: Final = 4_000_000


def gpu_hops(
    network: Network, group: Group, pattern: Pattern, *, nodes: NDArray[np.int64]
) -> Iterator[Hops]:
    """Yield sources and targets (GPUs) of flows of equal size, and how many each stands for.

    Args:
        network: Gives the GPUs and NICs of a node.
        group: One of the groups; its siblings fill the cluster.
        pattern: What a step of it looks like between nodes.
        nodes: Which node stands at each place; from :func:`placed_nodes`.

    Raises:
        InfeasibleError: The group spans more nodes than there are.
    """
    gpus = network.node.num_gpus
    owner = np.arange(num_senders(network, group)) * gpus // network.node.num_nics
    for source, target, times in _node_hops(group, pattern, len(nodes), len(owner)):
        yield (
            (nodes[source][:, None] * gpus + owner).ravel(),
            (nodes[target][:, None] * gpus + owner).ravel(),
            times,
        )


def num_senders(network: Network, group: Group) -> int:
    """Return the NICs of a node that send at once."""
    return min(network.node.num_nics, group.active_per_node)


def placed_nodes(network: Network, group: Group, *, seed: int) -> NDArray[np.int64]:
    """Return the node at each place: in order, but for the share of them that is displaced.

    Raises:
        InfeasibleError: The group spans more nodes than there are.
    """
    num_nodes = network.design.num_nodes
    check_span(group, num_nodes, gpus_per_node=network.design.num_gpus // num_nodes)
    rng = np.random.default_rng(seed)
    nodes = np.arange(num_nodes)
    moved = np.sort(rng.choice(num_nodes, size=round(group.displaced * num_nodes), replace=False))
    nodes[moved] = nodes[rng.permutation(moved)]
    return nodes


def check_span(group: Group, num_nodes: int, *, gpus_per_node: int) -> None:
    """Raise an InfeasibleError when *group* spans more than *num_nodes* nodes."""
    if group.span_nodes > num_nodes:
        raise InfeasibleError(
            what=(
                f"group of {group.size:,}: it spans {group.span_nodes:,} nodes, but the "
                f"network has {num_nodes:,} ({num_nodes * gpus_per_node:,} GPUs)"
            ),
            remedy="use fewer ranks or more nodes",
        )


def _node_hops(group: Group, pattern: Pattern, num_nodes: int, num_senders: int) -> Iterator[Hops]:
    span, stride = group.span_nodes, group.node_stride
    place = np.arange(num_nodes // span * span)
    member = place % span // stride
    members = span // stride

    def at(index: NDArray[np.int64]) -> NDArray[np.int64]:
        return place - member * stride + index * stride

    if pattern == "all-to-all":
        shifts = _shifts(members, len(place) * num_senders)
        for shift in shifts:
            yield place, at((member + shift) % members), (members - 1) / len(shifts)
    elif pattern == "tree":
        for parent in _trees(members):
            up = parent[member]
            sends = up >= 0
            child, above = place[sends], at(np.maximum(up, 0))[sends]
            yield np.concatenate([child, above]), np.concatenate([above, child]), 1.0
    else:
        last = member == members - 1
        following = at((member + 1) % members)
        stays = last if pattern == "pair" else np.zeros(len(place), dtype=np.bool_)
        yield place[~stays], following[~stays], 1.0


def _shifts(members: int, flows_each: int) -> NDArray[np.int64]:
    """Return the distances that are routed: all, or as many as MAX_FLOWS allows."""
    count = min(members - 1, max(1, MAX_FLOWS // max(1, flows_each)))
    return 1 + np.arange(count) * (members - 1) // count


def _trees(members: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each member's parent in NCCL's two trees, -1 at the root.

    The first is ``ncclGetBtree``: NVIDIA/nccl src/graph/trees.cc. The second is its mirror image
    where the number is even, and shifted by one where it is odd.
    """
    first = np.array([_parent(i, members) for i in range(members)], dtype=np.int64)
    index = np.arange(members)
    if members % 2 == 0:
        mirrored = first[members - 1 - index]
        return first, np.where(mirrored < 0, -1, members - 1 - mirrored)
    shifted = first[(index - 1) % members]
    return first, np.where(shifted < 0, -1, (shifted + 1) % members)


def _parent(index: int, members: int) -> int:
    if index == 0:
        return -1
    bit = index & -index
    up = (index ^ bit) | (bit << 1)
    return index ^ bit if up >= members else up
