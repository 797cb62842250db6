"""What a collective takes before its bytes decide: its steps on this network, and the launch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.duration import collective_terms
from netloom.engines.analytic.measured_rings import has_measured_hops, measured_latency
from netloom.engines.analytic.tables import (
    BASE_US,
    HW_US,
    NCCL,
    PROTOCOLS,
    Algorithm,
    LinkKind,
    Protocol,
)
from netloom.engines.analytic.tuner import latency_us, ring_hops
from netloom.engines.analytic.ways import way_of
from netloom.provenance import Why
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from netloom.compute.generation import Constant
    from netloom.engines.analytic.duration import CollectivePlacement
    from netloom.engines.analytic.tuner import AlgorithmChoice, Communicator
    from netloom.workload.collective import Collective

__all__ = ["library_latency", "nccl_leaf", "overlap", "summed", "wire"]

_LL_BYTES: Final = 1024.0


def wire(place: CollectivePlacement, protocol: Protocol, size_bytes: float) -> tuple[Why, ...]:
    """Return what a hop between nodes takes longer than NCCL's table says; empty inside a node."""
    if place.path is None:
        return ()
    way = way_of(place.network.technology, place.network.nic.name, place.network.net)
    farther = Why(
        name="how much farther than where that was measured",
        value=max(0.0, place.path.latency_s - way.reference_s),
        unit="s",
        how=f"one way, less the {way.reference_s * 1e6:g} us of {way.name}",
    )
    asked = (way.rendezvous_s.why(),) if protocol is Protocol.SIMPLE else ()
    if protocol is Protocol.LL:
        asked = (_larger(way.doubling_s, size_bytes),)
    copied = () if place.network.gpudirect else (_copied(protocol),)
    return (way.hop_s.why(), *asked, farther, *copied)


def _copied(protocol: Protocol) -> Why:
    """Return what going through host memory at both ends of a hop takes."""
    hop_us = HW_US[LinkKind.PCI][Algorithm.RING][PROTOCOLS.index(protocol)]
    return Why(
        name="copies through host memory",
        value=2 * hop_us * 1e-6,
        unit="s",
        how="a hop over PCIe at each end, without GPUDirect",
        source=NCCL,
    )


def _larger(doubling: Constant, size_bytes: float) -> Why:
    doublings = math.log2(1 + size_bytes / _LL_BYTES)
    return Why(
        name="what a larger message takes longer with LL",
        value=doubling.value * doublings,
        unit="s",
        how=f"{doublings:.3g} doublings of 1 KiB",
        parts=(doubling.why(),),
    )


def library_latency(
    collective: Collective,
    choice: AlgorithmChoice,
    comm: Communicator,
    place: CollectivePlacement,
) -> Why:
    """Return the start-up of *choice*: its steps here, or the launch where that is more."""
    if has_measured_hops(collective, choice, place.network):
        bytes_s = max(term.time_s for term in collective_terms(collective, choice, place))
        steps = measured_latency(collective, comm, place.network, bytes_s=bytes_s)
        return _with_call(place, _launched(place, collective, steps))
    index = PROTOCOLS.index(choice.protocol)
    extra = wire(place, choice.protocol, collective.size_bytes)
    actual = replace(comm, nic_us=0.0, wire_us=total(extra) * 1e6)
    base = nccl_leaf("base latency", BASE_US[choice.algorithm][index] * 1e-6)
    used = [
        nccl_leaf(f"latency of a hop over {link}", HW_US[link][choice.algorithm][index] * 1e-6)
        for link in ((comm.intra,) if place.path is None else (comm.intra, LinkKind.NET))
    ]
    steps_s = latency_us(collective.kind, choice.algorithm, index, actual, chained=True) * 1e-6
    hops = Why(
        name="all hops",
        value=steps_s - total((base,)),
        unit="s",
        how=_counted(collective, choice.algorithm, index, actual),
        parts=(*used, *extra),
    )
    steps = Why(
        name="latency of the steps", value=steps_s, unit="s", how="base + hops", parts=(base, hops)
    )
    return _with_call(place, _launched(place, collective, steps))


def _counted(
    collective: Collective, algorithm: Algorithm, protocol: int, comm: Communicator
) -> str:
    """Say how often a piece of data hops."""
    if algorithm is Algorithm.RING:
        hops = ring_hops(collective.kind, protocol, comm)
        return " + ".join(f"{count:,} x {hop_us:.4g} us" for count, hop_us in hops)
    if algorithm is Algorithm.TREE:
        inside, between = int(comm.per_node) - 1, int(math.log2(comm.num_nodes))
        return f"up and down: 2 x ({inside} inside a node + {between} between nodes)"
    return "inside a node and between nodes, as NCCL counts them"


def overlap(
    collective: Collective,
    choice: AlgorithmChoice,
    comm: Communicator,
    place: CollectivePlacement,
    bytes_s: float,
) -> Why | None:
    """Return what a ring's steps and bytes overlap by between nodes; None where they add up.

    While one piece is on its way between nodes the NICs send others, but not always: together
    they take the root of the sum of their squares. Neither LL and LL128 nor RCCL were seen to.
    """
    kind = collective_entry(collective.kind)
    ringed = choice.algorithm is Algorithm.RING and choice.protocol is Protocol.SIMPLE
    if place.path is None or not (ringed and place.profile.hides_steps):
        return None
    if not (kind.is_reducing or kind.is_sharded):
        return None
    if has_measured_hops(collective, choice, place.network):
        return None  # the table of hops holds it
    index = PROTOCOLS.index(choice.protocol)
    extra = total(wire(place, choice.protocol, collective.size_bytes))
    actual = replace(comm, nic_us=0.0, wire_us=extra * 1e6)
    hops = ring_hops(collective.kind, index, actual)
    steps_s = sum(count * hop_us for count, hop_us in hops) * 1e-6
    return Why(
        name="steps and bytes at the same time",
        value=steps_s + bytes_s - math.hypot(steps_s, bytes_s),
        unit="s",
        how="hops + bytes - root of the sum of their squares",
        parts=(
            Why(name="hops of a piece", value=steps_s, unit="s", how="count x hop"),
            Why(name="bytes", value=bytes_s, unit="s"),
        ),
    )


def _launched(place: CollectivePlacement, collective: Collective, steps: Why) -> Why:
    launch = place.profile.launch_s
    if launch is None:
        return steps
    assert isinstance(steps.value, float), steps
    floor = launch.value * collective.group.per_node
    parts = (steps, launch.why())
    how = "the steps, or launching on each GPU of the node where that is more"
    return Why(name="start-up", value=max(steps.value, floor), unit="s", how=how, parts=parts)


def _with_call(place: CollectivePlacement, start: Why) -> Why:
    overhead = place.profile.overhead_s
    return summed("latency", (start,) if overhead is None else (start, overhead.why()))


def total(parts: tuple[Why, ...]) -> float:
    """Return the sum of *parts*, which are numbers."""
    return float(sum(part.value for part in parts if isinstance(part.value, float | int)))


def nccl_leaf(name: str, value_s: float) -> Why:
    """Return a number of NCCL's tables as a leaf of an explanation."""
    return Why(name=name, value=value_s, unit="s", source=NCCL)


def summed(name: str, parts: tuple[Why, ...]) -> Why:
    """Return the sum of *parts* as a node of an explanation."""
    return Why(name=name, value=total(parts), unit="s", how="sum of the parts", parts=parts)
