"""What runs in a lab, seen with the same programs an operator has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of, master_of
from netloom.app.lab.roce import cable_ends
from netloom.drivers import frr, ibdiags, netns, opensm
from netloom.drivers.programs import is_running
from netloom.errors import LabError
from netloom.fabric.part_id import PartId
from netloom.ops.lab import namespace_of
from netloom.ops.status import Count, LabStatus, ManagerStatus, ProgramStatus
from netloom.ops.underlay import expected_ways, underlay_of

if TYPE_CHECKING:
    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.formats.frr import state as frr_state
    from netloom.formats.infiniband import diags
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Plant

__all__ = ["status_of"]


def status_of(place: LabFolder) -> LabStatus:
    """Return how a lab is.

    What does not answer is a value, not an error: it counts as down, and the doubts say why.

    Raises:
        SpecError: there is no such lab.
    """
    lab, plant = place.read(), place.read_plant()
    return _infiniband(place, lab, plant) if lab.kind == "infiniband" else _roce(place, lab, plant)


def _programs(lab: Lab) -> tuple[ProgramStatus, ...]:
    return tuple(
        ProgramStatus(name=one.name, pid=one.pid, is_running=is_running(one.pid, one.started))
        for one in lab.programs
    )


def _infiniband(place: LabFolder, lab: Lab, plant: Plant) -> LabStatus:
    networks = subnets_of(place, lab, plant)
    rows: list[diags.PortRow] = []
    doubts: list[str] = []
    for network in networks:
        try:
            rows += ibdiags.ports(_observer(place, lab, network))
        except LabError as error:
            doubts.append(f"subnet {network.number}: {error}")
    cabled = [row for row in rows if row.peer_guid is not None]
    return LabStatus(
        name=lab.name,
        kind=lab.kind,
        scenario=lab.scenario,
        phase=lab.phase,
        folder=str(place.path),
        programs=_programs(lab),
        switches=Count(up=_num_nodes(rows, "SW"), of=len(plant.switches)),
        hosts=Count(up=_num_nodes(rows, "CA"), of=len(plant.hosts)),
        cables=Count(up=len(cabled) // 2, of=len(plant.cables)),
        managers=tuple(one for network in networks for one in _managers(lab, network)),
        masters=tuple(master_of(lab, network) for network in networks),
        faults=lab.faults,
        doubts=tuple(doubts),
        environment=tuple(dict(client_of(place, network).env) for network in networks),
    )


def _observer(place: LabFolder, lab: Lab, network: Subnet) -> ibdiags.Client:
    """Return the view from the master's host, which sees what can be reached."""
    master = master_of(lab, network)
    index = PartId.parse(master).index if master else 0
    return client_of(place, network, host=network.manager_host(index))


def _num_nodes(rows: list[diags.PortRow], kind: str) -> int:
    return len({row.guid for row in rows if row.kind == kind})


def _managers(lab: Lab, network: Subnet) -> tuple[ManagerStatus, ...]:
    found = []
    for index, manager in enumerate(network.managers):
        name = network.manager_name(index)
        program = lab.program(name)
        alive = program is not None and is_running(program.pid, program.started)
        log = opensm.read_log(manager)
        found.append(
            ManagerStatus(
                name=name,
                host=network.manager_host(index),
                state=log.state if alive else "dead",
                engine=log.engine,
                fell_back=log.fell_back(lab.engine),
            )
        )
    return tuple(found)


def _roce(place: LabFolder, lab: Lab, plant: Plant) -> LabStatus:
    doubts: list[str] = []
    up = _interfaces_up(place, plant, doubts)
    peers, divergent = _routers(place, plant, doubts)
    sides = {role: [d.name for d in plant.devices if d.role == role] for role in ("switch", "host")}
    alive = {name for name, _ in up}
    return LabStatus(
        name=lab.name,
        kind=lab.kind,
        scenario=lab.scenario,
        phase=lab.phase,
        folder=str(place.path),
        programs=_programs(lab),
        switches=Count(up=len(alive & _spaces(place, sides["switch"])), of=len(sides["switch"])),
        hosts=Count(up=len(alive & _spaces(place, sides["host"])), of=len(sides["host"])),
        cables=Count(up=_num_cables_up(place, plant, up), of=len(plant.cables)),
        sessions=Count(up=sum(peer.is_up for peer in peers), of=len(peers)),
        divergent=divergent,
        faults=lab.faults,
        doubts=tuple(doubts),
    )


def _spaces(place: LabFolder, names: list[str]) -> set[str]:
    return {namespace_of(place.mark, name) for name in names}


def _interfaces_up(place: LabFolder, plant: Plant, doubts: list[str]) -> set[tuple[str, str]]:
    """Return namespace and name of every interface with carrier."""
    up = set()
    for device in plant.devices:
        namespace = namespace_of(place.mark, device.name)
        try:
            found = netns.interfaces(namespace)
        except LabError as error:
            doubts.append(f"{device.name}: {error}")
            continue
        up |= {(namespace, one.name) for one in found if one.is_up}
    return up


def _num_cables_up(place: LabFolder, plant: Plant, up: set[tuple[str, str]]) -> int:
    ends = (cable_ends(place, plant, cable) for cable in plant.cables)
    return sum(all((end.namespace, end.interface) in up for end in pair) for pair in ends)


def _routers(
    place: LabFolder, plant: Plant, doubts: list[str]
) -> tuple[list[frr_state.Peer], tuple[str, ...]]:
    """Return all BGP sessions, and the switches whose kernel lost paths that FRR still has."""
    underlay = underlay_of(plant)
    prefixes = {prefix for ways in expected_ways(plant, underlay).values() for prefix in ways}
    sessions: list[frr_state.Peer] = []
    divergent = []
    for router in underlay.routers:
        pathspace = namespace_of(place.mark, router.name)
        try:
            sessions += frr.peers(pathspace)
            believed = {r.prefix: r.interfaces for r in frr.routes(pathspace)}
            real = {r.prefix: r.interfaces for r in frr.fib(pathspace)}
        except LabError as error:
            doubts.append(f"{router.name}: {error}")
            continue
        if any(believed.get(prefix) != real.get(prefix) for prefix in prefixes):
            divergent.append(router.name)
    return sessions, tuple(divergent)
