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
from netloom.ops.locate.loops import circle_of, strays_at
from netloom.ops.locate.testimony import TRUST, Report, believed
from netloom.ops.underlay import expected_ways

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["dead_ends", "with_dead_ends"]

STOPPED = 0.9  # of the packets: a device without a way on for a flow loses all of them
# What is said of a device already and makes flows end there.
CAUSES = frozenset(
    {
        *(
            Trouble.REFUSED,
            Trouble.FOREIGN,
            Trouble.MISSING_ROUTES,
            Trouble.SILENT,
            Trouble.ROUTE_POLICY,
        ),
        FaultKind.LOST_PATHS,
    }
)


def dead_ends(
    network: DesignedNetwork,
    observed: Observed,
    gone: Collection[int] = (),
    silent: Collection[str] = (),
) -> Iterator[Finding]:
    """Give the devices at which flows end that lose packets, unless no way on is left.

    Of flows that go in a circle, or off their way, it is the device that sends them astray; but
    not of those that end at one which is known to be dead, until its neighbours have noticed.

    Args:
        network: As designed.
        observed: Flows and probes.
        gone: Cables that carry nothing, for reasons that are known.
        silent: Devices that were found dead, by name.

    Raises:
        SpecError: a flow names what is not there.
    """
    lossy = [flow for flow in observed.flows if flow.ends_at is not None and _is_stopped(flow)]
    ways = expected_ways(network.plant, network.underlay, gone) if lossy else {}
    ending: dict[str, list[ObservedFlow]] = defaultdict(list)
    for flow in lossy:
        is_known = flow.ends_at in silent
        ending[str(flow.ends_at) if is_known else _blamed(network, flow, ways)].append(flow)
    for name, flows in sorted(ending.items()):
        find_vertex(network.fabric, name)
        prefixes = _prefixes(network, name, ways)
        some = [flow for flow in flows if prefixes is None or _leads_on(network, flow, prefixes)]
        if some:
            yield _finding(network, name, some, _num_through(observed, name))


def _is_stopped(flow: ObservedFlow) -> bool:
    """Return whether about nothing of a flow arrived; routes that changed meanwhile cost less."""
    return flow.lost > 0 and flow.lost >= STOPPED * flow.packets


def _blamed(
    network: DesignedNetwork, flow: ObservedFlow, ways: dict[int, dict[str, tuple[str, ...]]]
) -> str:
    """Return the device that sends a flow astray, or where its way ends."""
    assert flow.ends_at is not None
    prefixes = _networks_of(network, flow.target)
    expected = {
        network.plant.devices[number].name: [
            way for prefix in prefixes for way in own.get(prefix, ())
        ]
        for number, own in ways.items()
    }
    return strays_at(network, circle_of(flow) or flow.path or (), expected) or flow.ends_at


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
    return not prefixes.isdisjoint(_networks_of(network, flow.target))


def _networks_of(network: DesignedNetwork, target: str) -> set[str]:
    """Return the networks of a GPU's NIC ports."""
    gpu, devices = find_vertex(network.fabric, target), network.plant.devices
    return {
        str(link.switch_address.network)
        for link in network.underlay.host_links
        if gpu in network.gpus.get(devices[link.host].name, ())
    }


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
    # Where it says that it has no way, and what is sent that way is lost: two witnesses.
    said = [Report(is_so=True, num_looks=1)] * 2
    return Finding(
        part=PartId.parse(name),
        kind=FaultKind.BLACK_HOLE.value,
        magnitude=len(flows) / max(num_through, 1),
        confidence=believed(TRUST[Trouble.REFUSED], said),
        evidence=(*_says(name, flows, num_through), f"they lost {lost:,} of {sent:,} packets"),
        hurts=tuple(sorted(gpus)),
        predicted_gain=1.0,
    )


def _says(name: str, flows: Sequence[ObservedFlow], num_through: int) -> tuple[str, str]:
    """Return how flows come to nothing: in a circle, or at a device that has no way on."""
    what = f"{len(flows)} of the {num_through} flows that come to it"
    such = f"such as {flows[0].source} to {flows[0].target}"
    if circle := circle_of(flows[0]):
        around = [link.partition("->")[0] for link in (*circle, circle[0])]
        return f"{what} go in a circle, {such}", f"round and round: {', '.join(around)}"
    if str(flows[0].ends_at) != name:
        return f"{what} are sent astray, {such}", f"they end at {flows[0].ends_at}"
    return f"{what} end there, {such}", "it has no way on for them"


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
