"""Look at a RoCE lab: probes between hosts, FRR's routes beside the kernel's, interfaces."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.app.lab.carrier import ends_of, with_carrier
from netloom.app.lab.ethernet import built_of_namespaces
from netloom.app.lab.probes import Probed, flows_of, probe
from netloom.app.lab.roce import cable_ends, lab_rate_bps
from netloom.app.lab.routers import addresses_of, named_devices, routers_of
from netloom.drivers import frr, vty
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Dispute
from netloom.ops.lab import namespace_of
from netloom.ops.locate.cabling import cabling_observations
from netloom.ops.locate.telemetry import window_of
from netloom.ops.observe.compare import compare
from netloom.ops.observe.observation import Observation, Reading, whole
from netloom.ops.underlay import expected_uses, expected_ways, underlay_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.app.lab.probes import Flow
    from netloom.app.lab.routers import RouterState
    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.compare import Built
    from netloom.ops.plant import Cable, Plant
    from netloom.ops.underlay import BgpRouter

__all__ = ["EthernetSeen", "look", "route_counts"]

AGAIN_S: Final = 0.2  # zebra writes a route within milliseconds
WORKERS: Final = 4  # programs that are asked at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class EthernetSeen:
    """What one look found.

    Attributes:
        probed: What became of the probes.
        heard: What interfaces, daemons and kernels said, as a watch would have stored it.
        down: Cables without carrier at an end.
        disputes: Where sources disagree.
        doubts: What could not be asked.
    """

    probed: tuple[Probed, ...] = ()
    heard: TelemetryWindow | None = None
    down: tuple[Cable, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    doubts: tuple[str, ...] = ()


def look(
    place: LabFolder, plant: Plant, time_s: float, flows: Sequence[Flow] | None = None
) -> EthernetSeen:
    """Return what interfaces, routes and probes show.

    Args:
        place: Of the lab.
        plant: As designed.
        time_s: Now.
        flows: Probes to send; default: some between all hosts.
    """
    doubts: list[str] = []
    uses = expected_uses(plant, underlay_of(plant))
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        asked = [
            (one, pool.submit(_believes, one, uses.get(one.machine.name, {}), time_s))
            for one in routers_of(place, plant)
        ]
        built = pool.submit(built_of_namespaces, named_devices(place, plant))
        held = pool.submit(addresses_of(place, plant).read, time_s, "")
        ends = tuple(ends_of(place, plant, plant.cables))
        before = with_carrier(ends, doubts)
        probed = probe(place, plant, flows_of(plant) if flows is None else flows)
        up = with_carrier(ends, [])
        readings = [_links_up(place, plant, up, time_s)]
        if before != up:  # what changes during a look is not blamed on others
            readings.insert(0, _links_up(place, plant, before, time_s - AGAIN_S))
        for router, reading in asked:
            try:
                readings += reading.result()
            except LabError as error:
                doubts.append(f"{router.machine.name}: {error}")
        try:
            readings += [_cabling(plant, built.result(), time_s), held.result()]
        except LabError as error:
            doubts.append(str(error))
    down = tuple(c for c in plant.cables if not up.issuperset(cable_ends(place, plant, c)))
    return EthernetSeen(
        probed=probed,
        heard=window_of(readings),
        down=down,
        disputes=tuple(_disputes(probed, down)) if before == up else (),
        doubts=tuple(doubts),
    )


def _believes(router: RouterState, uses: Mapping[str, int], time_s: float) -> list[Reading]:
    """Return what a switch says; twice where it is not what it should be.

    Daemon and kernel are read one after the other, and BGP may be at work: a change may lie
    between.
    """
    first = router.read(time_s, "")
    said = {one.metric: one.value for one in first.observations}
    if said["rib_ways"] == said["fib_ways"] == sum(uses.values()):
        return [first]
    time.sleep(AGAIN_S)
    return [first, router.read(time_s + AGAIN_S, "")]


def _links_up(place: LabFolder, plant: Plant, up: set[End], time_s: float) -> Reading:
    seen = [
        Observation(time_s, plant.port_name(port), "link_up", float(end in up))
        for cable in plant.cables
        for port, end in zip(cable.ends, cable_ends(place, plant, cable), strict=True)
    ]
    return whole("interfaces", time_s, seen, cursor="")


def _cabling(plant: Plant, built: Built, time_s: float) -> Reading:
    compared = compare(plant, built)
    seen = cabling_observations(compared, lambda cable: lab_rate_bps(plant, cable), time_s)
    return whole("cabling", time_s, seen, cursor="")


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


def _disputes(probed: tuple[Probed, ...], down: tuple[Cable, ...]) -> list[Dispute]:
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
