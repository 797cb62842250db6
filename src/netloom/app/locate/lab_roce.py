"""Look at a RoCE lab: probes between hosts, FRR's routes beside the kernel's, interfaces."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.app.lab.carrier import ends_of, with_carrier
from netloom.app.lab.probes import Probed, flows_of, probe
from netloom.app.lab.roce import cable_ends
from netloom.drivers import frr, vty
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.lab import namespace_of
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.findings import Finding
from netloom.ops.underlay import expected_ways, interface_name, underlay_of
from netloom.spec.observed import Observed, ObservedFlow, ObservedSwitch

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.ops.plant import Cable, Plant, Port
    from netloom.ops.underlay import BgpRouter

__all__ = ["EthernetSeen", "look", "observed_of", "route_counts"]

READ: Final = 0.99  # confidence in what both ends say alike
AGAIN_S: Final = 0.2  # zebra writes a route within milliseconds
WORKERS: Final = 4  # programs that are asked at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class EthernetSeen:
    """What one look found.

    Attributes:
        probed: What became of the probes.
        switches: Ways that routing and forwarding have, by switch.
        findings: Cables that are down.
        away: Cables that carry nothing: down, or no routes lead over them though some should.
        disputes: Where sources disagree.
        doubts: What could not be asked.
    """

    probed: tuple[Probed, ...] = ()
    switches: dict[str, tuple[int, int]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    away: tuple[PartId, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    doubts: tuple[str, ...] = ()


def look(place: LabFolder, plant: Plant) -> EthernetSeen:
    """Return what interfaces, routes and probes show."""
    doubts: list[str] = []
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        routers = underlay_of(plant).routers
        asked = [(r, pool.submit(route_counts, place, plant, r)) for r in routers]
        up = with_carrier(ends_of(place, plant, plant.cables), doubts)
        probed = probe(place, plant, flows_of(plant))
        switches = {}
        for router, counts in asked:
            try:
                switches[router.name] = counts.result()
            except LabError as error:
                doubts.append(f"{router.name}: {error}")
    down = [cable for cable in plant.cables if not _is_up(place, plant, cable, up)]
    return EthernetSeen(
        probed=probed,
        switches=switches,
        findings=tuple(_missing(plant, cable) for cable in down),
        away=tuple(PartId.cable(cable.number) for cable in down),
        disputes=tuple(_disputes(probed, down)),
        doubts=tuple(doubts),
    )


def route_counts(place: LabFolder, plant: Plant, router: BgpRouter) -> tuple[int, int]:
    """Return next hops to hosts of other switches that FRR believes in, and that the kernel has.

    Raises:
        LabError: the switch does not answer.
    """
    space = namespace_of(place.mark, router.name)
    prefixes = set(expected_ways(plant, underlay_of(plant))[router.device])
    rib, fib = _count(space, prefixes)
    if rib != fib:  # the two are read one after the other: a change may lie between
        time.sleep(AGAIN_S)
        rib, fib = _count(space, prefixes)
    return rib, fib


def _count(space: str, prefixes: set[str]) -> tuple[int, int]:
    believed = [r for r in vty.routes(space) if r.prefix in prefixes]
    real = [r for r in frr.fib(space) if r.prefix in prefixes]
    return sum(len(r.interfaces) for r in believed), sum(len(r.interfaces) for r in real)


def _is_up(place: LabFolder, plant: Plant, cable: Cable, up: set[End]) -> bool:
    return up.issuperset(cable_ends(place, plant, cable))


def _missing(plant: Plant, cable: Cable) -> Finding:
    names = " and ".join(
        f"{plant.devices[p.device].name} {interface_name(plant, p)}" for p in cable.ends
    )
    return Finding(
        part=plant.part(cable),
        kind=Trouble.MISSING.value,
        magnitude=1.0,
        confidence=READ,
        evidence=(f"{names} have no carrier",),
        hurts=(),
        predicted_gain=0.0,
    )


def _disputes(probed: tuple[Probed, ...], down: list[Cable]) -> list[Dispute]:
    """Return the cables that are down though probes came through them."""
    numbers = {cable.number for cable in down}
    through = {
        cable.number
        for one in probed
        if one.lost < one.sent
        for cable, _ in one.links
        if cable.number in numbers
    }
    says = ("its ends have no carrier", "probes came through it")
    return [Dispute(part=PartId.cable(number), says=says) for number in sorted(through)]


def observed_of(plant: Plant, seen: EthernetSeen, gpu_of: dict[str, str]) -> Observed:
    """Return what was seen as observations by name, for locating.

    Args:
        plant: Of the lab.
        seen: What was seen.
        gpu_of: The GPU beside each NIC port, both by name.
    """
    flows = tuple(
        _observed_flow(plant, one, gpu_of)
        for one in seen.probed
        if one.links
        and {plant.devices[end].name for end in (one.flow.source, one.flow.target)} <= gpu_of.keys()
    )
    switches = tuple(
        ObservedSwitch(switch=name, rib_ways=rib, fib_ways=fib)
        for name, (rib, fib) in seen.switches.items()
    )
    return Observed(flows=flows, switches=switches)


def _observed_flow(plant: Plant, one: Probed, gpu_of: dict[str, str]) -> ObservedFlow:
    first, last = (plant.devices[end].name for end in (one.flow.source, one.flow.target))
    path = [_link_name(plant, link) for link in one.links]
    return ObservedFlow(
        source=gpu_of[first],
        target=gpu_of[last],
        source_port=one.flow.source_port,
        path=(f"{gpu_of[first]}->{first}", *path, f"{last}->{gpu_of[last]}"),
        packets=one.sent,
        lost=one.lost,
        large=one.flow.is_large,
    )


def _link_name(plant: Plant, link: tuple[Cable, Port]) -> str:
    cable, sender = link
    far = cable.upper if sender == cable.lower else cable.lower
    ends = "->".join(plant.devices[port.device].name for port in (sender, far))
    return f"{ends}#{cable.number}"
