"""Size a network: how many switches and cables a cluster needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.errors import InfeasibleError
from netloom.fabric.topologies.clos import MAX_TIERS
from netloom.fabric.topologies.entry import topology_entry
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.fabric.topologies.request import Request, hosts_wired
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.fabric.design import Design
    from netloom.parts.parts import Node, Switch
    from netloom.spec.topology import Topology

__all__ = ["choose", "design"]


def design(
    *, topology: Topology, num_nodes: int, node: Node, switch: Switch, nic_rate_bps: float
) -> Design:
    """Return the network of *topology* that joins *num_nodes* of *node*.

    Args:
        topology: What to build, and how.
        num_nodes: Machines to attach; need not fill the last leaf or pod.
        node: The kind of machine; all its NICs are attached.
        switch: What every tier is made of.
        nic_rate_bps: What one NIC puts on the wire, all its planes together.

    Raises:
        InfeasibleError: the switch has too few or too slow ports; the message says what would do.
    """
    request = Request.of(
        node, num_nodes=num_nodes, topology=topology, switch=switch, nic_rate_bps=nic_rate_bps
    )
    sized = topology_entry(topology).size(request, topology)
    return _in_nodes(sized, hosts=hosts_wired(node))


def _in_nodes(sized: Design, *, hosts: int) -> Design:
    """Return a design that was sized computer by computer, counted in nodes of *hosts* each."""
    if hosts == 1:
        return sized
    return replace(
        sized,
        num_nodes=sized.num_nodes // hosts,
        hosts_per_node=hosts,
        reaches=tuple(
            replace(reach, num_nodes=max(1, reach.num_nodes // hosts)) for reach in sized.reaches
        ),
        notes=tuple(note.replace(" nodes", " hosts") for note in sized.notes),
    )


def choose(
    *,
    num_gpus: int,
    node: Node,
    switches: Sequence[Switch],
    nic_rate_bps: float,
    topology: Topology | None = None,
) -> Design:
    """Return the first network on a fixed list that joins *num_gpus*.

    The list: a rail-optimised fat tree of at most three tiers, then rail-only of at most three,
    each with the first of *switches*; the same with each larger switch of the same protocol,
    smallest first; a fat tree of four tiers comes last. With *topology* given, only the switches
    are tried in turn. The notes say why what came earlier on the list was passed over.

    Args:
        num_gpus: GPUs wanted; the last node may be more than they need.
        node: The kind of machine.
        switches: The preferred switch first, then others that may be used instead.
        nic_rate_bps: What one NIC puts on the wire, all its planes together.
        topology: What to build; None for the list above.

    Raises:
        InfeasibleError: nothing on the list will do; the message is that of the first.
    """
    num_nodes = -(-num_gpus // node.num_gpus)
    dropped: list[str] = []
    for candidate in _candidates(switches, topology):
        try:
            found = design(
                topology=candidate.topology,
                num_nodes=num_nodes,
                node=node,
                switch=candidate.switch,
                nic_rate_bps=nic_rate_bps,
            )
        except InfeasibleError as error:
            dropped.append(f"not {candidate}: {error}")
            continue
        if len(found.tiers) <= candidate.max_tiers:
            return replace(found, notes=(*dropped, *_rounding(num_gpus, found), *found.notes))
        dropped.append(f"not {candidate}: it needs {len(found.tiers)} tiers")
    raise InfeasibleError(dropped[0].removeprefix("not "))


def _rounding(num_gpus: int, found: Design) -> tuple[str, ...]:
    if found.num_gpus == num_gpus:
        return ()
    have = f"{found.num_nodes:,} nodes, which have {found.num_gpus:,}"
    return (f"{format_count(num_gpus, 'GPU')} take {have}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    topology: Topology
    switch: Switch
    max_tiers: int = MAX_TIERS

    def __str__(self) -> str:
        return f"{self.topology.kind} of {self.switch.name}"


def _candidates(switches: Sequence[Switch], topology: Topology | None) -> Iterator[_Candidate]:
    first, *others = switches
    larger = [
        switch
        for switch in others
        if switch.protocol == first.protocol and _capacity(switch) > _capacity(first)
    ]
    ordered = [first, *sorted(larger, key=lambda switch: (_capacity(switch), switch.name))]
    if topology is not None:
        yield from (_Candidate(topology=topology, switch=switch) for switch in ordered)
        return
    for switch in ordered:
        for kind in (RailFatTree(), RailOnly()):
            yield _Candidate(topology=kind, switch=switch, max_tiers=3)
    yield from (_Candidate(topology=RailFatTree(), switch=switch) for switch in ordered)


def _capacity(switch: Switch) -> float:
    return max(mode.count * mode.rate_bps for mode in switch.modes)
