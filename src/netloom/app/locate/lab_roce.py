"""Look at a RoCE lab: probes between hosts, FRR's routes beside the kernel's, interfaces."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.app.lab.carrier import ends_of, mtus_of, with_carrier
from netloom.app.lab.ethernet import absent_ports, built_of_kernels
from netloom.app.lab.probes import flows_of, probe_round
from netloom.app.lab.roce import cable_ends, lab_rate_bps
from netloom.app.lab.routers import addresses_of, daemons_of, kernels_of, routers_of
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

    from netloom.app.lab.probes import Flow, Probed, ProbeRound
    from netloom.app.lab.routers import RouterDaemons, RouterState
    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable, Plant
    from netloom.ops.underlay import BgpRouter

__all__ = ["EthernetSeen", "look", "route_counts"]

AGAIN_S: Final = 0.2  # zebra writes a route within milliseconds
_AGAIN: Final = frozenset({"cable_slowdown", "port_absent"})  # need a second reading
WORKERS: Final = 4  # programs that are asked at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class EthernetSeen:
    """What one look found.

    Attributes:
        probes: What became of them, and how full ports were meanwhile.
        heard: What interfaces, daemons and kernels said, as a watch would have stored it.
        down: Cables without carrier at an end.
        disputes: Where sources disagree.
        doubts: What could not be asked.
    """

    probes: ProbeRound
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
        daemons = pool.submit(_answering, daemons_of(place, plant), time_s)
        held = pool.submit(_kernels, place, plant, time_s)
        ends = tuple(ends_of(place, plant, plant.cables))
        before = with_carrier(ends, doubts)
        probes = probe_round(place, plant, flows_of(plant) if flows is None else flows)
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
            readings += daemons.result()
        except LabError as error:
            doubts.append(str(error))
        try:
            readings += held.result()
        except LabError as error:
            doubts.append(str(error))
    down = tuple(c for c in plant.cables if not up.issuperset(cable_ends(place, plant, c)))
    return EthernetSeen(
        probes=probes,
        heard=window_of(readings),
        down=down,
        disputes=tuple(_disputes(probes.probed, down)) if before == up else (),
        doubts=tuple(doubts),
    )


def _believes(router: RouterState, uses: Mapping[str, int], time_s: float) -> list[Reading]:
    """Return what a switch says; twice where it is not what it should be.

    Daemon and kernel are read one after the other, and BGP may be at work: a change may lie
    between.
    """
    first = router.read(time_s, "")
    said = {one.metric: one.value for one in first.observations}
    is_set = not {"bfd_missing", "bfd_detection_s", "bgp_hold_s"} & said.keys()
    if is_set and said["rib_ways"] == said["fib_ways"] == sum(uses.values()):
        return [first]
    time.sleep(AGAIN_S)
    return [first, router.read(time_s + AGAIN_S, "")]


def _answering(daemons: RouterDaemons, time_s: float) -> list[Reading]:
    """Return which routing daemons answer; twice where one does not."""
    first = daemons.read(time_s, "")
    if not any(one.value for one in first.observations):
        return [first]
    time.sleep(AGAIN_S)
    return [first, daemons.read(time_s + AGAIN_S, "")]


def _links_up(place: LabFolder, plant: Plant, up: set[End], time_s: float) -> Reading:
    seen = [
        Observation(time_s, plant.port_name(port), "link_up", float(end in up))
        for cable in plant.cables
        for port, end in zip(cable.ends, cable_ends(place, plant, cable), strict=True)
    ]
    sizes = mtus_of(ends_of(place, plant, plant.cables))
    seen += [
        Observation(time_s, plant.port_name(port), "mtu_bytes", float(sizes[end]))
        for cable in plant.cables
        for port, end in zip(cable.ends, cable_ends(place, plant, cable), strict=True)
        if end in sizes
    ]
    return whole("interfaces", time_s, seen, cursor="")


def _kernels(place: LabFolder, plant: Plant, time_s: float) -> list[Reading]:
    """Return the cables that kernels tell, against the design, and their addresses.

    Twice where a cable is slow or a port is not there: one reading does not convict.
    """
    kernels, addresses = kernels_of(place, plant), addresses_of(place, plant)

    def read(at_s: float) -> list[Reading]:
        held = addresses.read(at_s, "")
        kernels.look()
        compared = compare(plant, built_of_kernels(kernels))
        seen = cabling_observations(compared, lambda cable: lab_rate_bps(plant, cable), at_s)
        absent = [
            one
            for machine in kernels.machines
            for one in absent_ports(machine, kernels.state(machine).links, at_s)
        ]
        return [whole("cabling", at_s, [*seen, *absent], cursor=""), held]

    first = read(time_s)
    if not any(one.metric in _AGAIN for one in first[0].observations):
        return first
    time.sleep(AGAIN_S)
    return [*first, *read(time_s + AGAIN_S)]


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
