"""Flows whose way ends at a device that is not their target: it refuses them, or keeps silent.

Such a flow says nothing of the links beyond, but much of where it ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.fabric.names import find_vertex
from netloom.fabric.part_id import PartId
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.ops.locate.findings import Finding
from netloom.ops.locate.testimony import TRUST, Report, believed
from netloom.ops.underlay import expected_ways

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["dead_ends", "with_dead_ends"]

# What is said of a device already and makes flows end there.
CAUSES = frozenset(
    {
        *(Trouble.REFUSED, Trouble.FOREIGN, Trouble.MISSING_ROUTES, Trouble.SILENT),
        FaultKind.LOST_PATHS,
    }
)


def dead_ends(
    network: DesignedNetwork, observed: Observed, gone: Collection[int] = ()
) -> Iterator[Finding]:
    """Give the devices at which flows end that lose packets, unless no way on is left.

    Args:
        network: As designed.
        observed: Flows and probes.
        gone: Cables that carry nothing, for reasons that are known.

    Raises:
        SpecError: a flow names what is not there.
    """
    ending: dict[str, list[ObservedFlow]] = defaultdict(list)
    for flow in observed.flows:
        if flow.ends_at is not None and flow.lost:
            ending[flow.ends_at].append(flow)
    ways = expected_ways(network.plant, network.underlay, gone) if ending else {}
    for name, flows in sorted(ending.items()):
        find_vertex(network.fabric, name)
        prefixes = _prefixes(network, name, ways)
        some = [flow for flow in flows if prefixes is None or _leads_on(network, flow, prefixes)]
        if some:
            yield _finding(network, name, some, _num_through(observed, name))


def _prefixes(
    network: DesignedNetwork, name: str, ways: dict[int, dict[str, tuple[str, ...]]]
) -> frozenset[str] | None:
    """Return the networks that a switch should have a route to; None of a host."""
    if name not in network.by_device:
        return None
    number = network.plant.number(name)
    return frozenset(ways[number]) if number in ways else None


def _leads_on(network: DesignedNetwork, flow: ObservedFlow, prefixes: frozenset[str]) -> bool:
    """Return whether the design has a way to the target of a flow where it ends."""
    gpu = find_vertex(network.fabric, flow.target)
    hosts = network.underlay.host_links
    own = [k for k in hosts if gpu in network.gpus.get(network.plant.devices[k.host].name, ())]
    return any(str(link.switch_address.network) in prefixes for link in own)


def _num_through(observed: Observed, name: str) -> int:
    """Return how many flows come to a device."""
    return sum(
        flow.ends_at == name or any(link.startswith(f"{name}->") for link in flow.path or ())
        for flow in observed.flows
    )


def _finding(
    network: DesignedNetwork, name: str, flows: Sequence[ObservedFlow], num_through: int
) -> Finding:
    sent, lost = sum(flow.packets for flow in flows), sum(flow.lost for flow in flows)
    gpus = {find_vertex(network.fabric, end) for f in flows for end in (f.source, f.target)}
    first = f"{flows[0].source} to {flows[0].target}"
    # Where it says that it has no way, and what is sent that way is lost: two witnesses.
    said = [Report(is_so=True, num_looks=1)] * 2
    return Finding(
        part=PartId.parse(name),
        kind=FaultKind.BLACK_HOLE.value,
        magnitude=len(flows) / max(num_through, 1),
        confidence=believed(TRUST[Trouble.REFUSED], said),
        evidence=(
            f"{len(flows)} of the {num_through} flows that come to it end there, such as {first}",
            f"it has no way on for them; they lost {lost:,} of {sent:,} packets",
        ),
        hurts=tuple(sorted(gpus)),
        predicted_gain=1.0,
    )


def with_dead_ends(said: Sequence[Finding], ends: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with dead ends among them: as evidence where the cause is told already."""
    by_part = {end.part: end for end in ends}
    merged: list[Finding] = []
    for finding in said:
        end = by_part.get(finding.part.whole) if finding.kind in CAUSES else None
        if end is not None:
            del by_part[finding.part.whole]
            finding = replace(  # noqa: PLW2901
                finding,
                confidence=max(finding.confidence, end.confidence),
                evidence=(*finding.evidence, *end.evidence),
                hurts=tuple(sorted({*finding.hurts, *end.hurts})),
                predicted_gain=max(finding.predicted_gain, end.predicted_gain),
            )
        merged.append(finding)
    return (*merged, *by_part.values())
