"""Rings between nodes whose hops were measured on the cluster itself.

What a hop takes beyond its bytes depends on the bytes that a rank passes on in a step, which the
library sends in one protocol or another, at once or after asking. A table of it by these bytes
holds for any number of nodes, since a ring on more nodes makes more of the same hops.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.tables import BASE_US, HW_US, NCCL, PROTOCOLS, Algorithm, Protocol
from netloom.provenance import Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator
    from netloom.fabric.network import Network
    from netloom.parts.parts import HopTime, Technology
    from netloom.workload.collective import Collective

__all__ = [
    "can_have_measured_hops",
    "first_measured_bytes",
    "fixed_s",
    "has_measured_hops",
    "measured_latency",
    "num_crossings",
    "passed_on_bytes",
]

# The protocol whose hops inside a node are taken: what another takes longer there is in the table.
_INSIDE: Final = PROTOCOLS.index(Protocol.LL)


def has_measured_hops(collective: Collective, choice: AlgorithmChoice, network: Network) -> bool:
    """Return whether *collective* goes round rings whose hops between nodes were measured.

    Below the smallest message that was measured NCCL's table holds.
    """
    first = first_measured_bytes(collective, choice, network)
    return first is not None and collective.size_bytes >= first


def first_measured_bytes(
    collective: Collective, choice: AlgorithmChoice, network: Network
) -> float | None:
    """Return from which size on the hops of such a ring were measured; None for no ring or none."""
    hops = _hops(network)
    if not hops or not can_have_measured_hops(collective, choice.algorithm):
        return None
    return hops[0].size_bytes * collective.group.size


def can_have_measured_hops(collective: Collective, algorithm: Algorithm) -> bool:
    """Return whether it passes a part of the message on in each step of a ring between nodes."""
    entry = collective_entry(collective.kind)
    parted = entry.is_reducing or entry.is_sharded
    return algorithm is Algorithm.RING and parted and collective.group.num_nodes > 1


def _hops(network: Network) -> tuple[HopTime, ...]:
    own = network.technology.collectives
    return () if own is None else own.ring_hops


def passed_on_bytes(collective: Collective) -> float:
    """Return what a rank passes on in a step."""
    return collective.size_bytes / collective.group.size


def num_crossings(collective: Collective) -> int:
    """Return how often the last part to arrive goes from node to node.

    With several ranks in a node it leaves out a hop inside one, and crosses between all.
    """
    group = collective.group
    around = group.num_nodes - (1 if group.per_node == 1 else 0)
    return around * (2 if collective_entry(collective.kind).is_reducing else 1)


def fixed_s(collective: Collective, comm: Communicator) -> float:
    """Return what a ring takes beside its bytes and its hops between nodes."""
    steps = collective_entry(collective.kind).ring_steps(collective.group.size)
    inside_us = max(HW_US[comm.intra][Algorithm.RING][_INSIDE], comm.post_us)
    hops_us = max(0, steps - num_crossings(collective)) * inside_us
    return (BASE_US[Algorithm.RING][_INSIDE] + hops_us) * 1e-6


def measured_latency(
    collective: Collective, comm: Communicator, network: Network, *, bytes_s: float
) -> Why:
    """Return what the steps of such a ring take beside their bytes, which take *bytes_s*."""
    passed, crossings = passed_on_bytes(collective), num_crossings(collective)
    hop = _hop(network.technology, passed, bytes_s=bytes_s / crossings)
    assert isinstance(hop.value, float), hop
    fixed = fixed_s(collective, comm)
    return Why(
        name="latency of the steps",
        value=fixed + crossings * hop.value,
        unit="s",
        how="base and hops inside a node + hops between nodes x what one was measured to take",
        parts=(
            Why(name="base and hops inside a node", value=fixed, unit="s", source=NCCL),
            Why(name="hops between nodes", value=crossings),
            hop,
        ),
    )


def _hop(technology: Technology, passed_bytes: float, *, bytes_s: float) -> Why:
    """Return what one hop takes beyond its bytes, between two measured sizes in proportion.

    Above the largest, bytes flow while the hop is waited for: it takes as long as there, or its
    bytes. So it was wherever large messages were measured.
    """
    assert technology.collectives is not None, technology
    hops = technology.collectives.ring_hops
    after = bisect_left(hops, passed_bytes, key=attrgetter("size_bytes"))
    low, high = hops[max(0, after - 1)], hops[min(after, len(hops) - 1)]
    how = f"measured where a rank passes on {low.size_bytes:.0f} to {high.size_bytes:.0f} B"
    value = low.time_s
    if high.size_bytes > low.size_bytes:
        along = (passed_bytes - low.size_bytes) / (high.size_bytes - low.size_bytes)
        value += (high.time_s - low.time_s) * along
    elif passed_bytes > low.size_bytes:
        whole_s = low.time_s + bytes_s * low.size_bytes / passed_bytes
        value = max(0.0, whole_s - bytes_s)
        how = f"at {low.size_bytes:.0f} B, bytes included, less the bytes of this one"
    return Why(
        name="hop of a ring between nodes, beyond its bytes",
        value=value,
        unit="s",
        how=how,
        source=technology.source("collectives.ring_hops"),
    )
