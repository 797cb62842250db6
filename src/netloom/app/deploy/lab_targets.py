"""What a lab has to deploy to: its switches, or its subnet managers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from netloom.app.deploy.frr_target import FrrTarget
from netloom.app.deploy.lab_vrfs import Flood, HostPort, LabVrf, LabVrfs, Rooms
from netloom.app.deploy.opensm_target import FULL_MEMBER, OpensmTarget
from netloom.app.deploy.subnets import engine_of, subnet_files
from netloom.app.lab.infiniband import subnets_of
from netloom.app.lab.infiniband_faults import client_of
from netloom.drivers import frr
from netloom.drivers.programs import Running, is_running
from netloom.errors import LabError, SpecError
from netloom.formats.infiniband import ibsim_topology
from netloom.ops.deploy.overlay import Overlay
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import interface_name
from netloom.spec.tenants import DEFAULT_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.app.lab.infiniband import Subnet
    from netloom.app.lab.store import LabFolder
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.lab import Lab

__all__ = ["targets_of", "vrfs_of"]


def targets_of(place: LabFolder, intent: Intent) -> tuple[FrrTarget | OpensmTarget, ...]:
    """Return the devices of a lab with what they are to run.

    Raises:
        SpecError: there is no such lab, or it was made from another network.
        LabError: it did not come up.
    """
    lab, plant = place.read(), place.read_plant()
    if lab.phase != "up":
        raise LabError(what=f"lab {lab.name!r} did not come up", remedy="bring it up again")
    if plant != intent.site.plant:
        raise SpecError(
            what=f"lab {lab.name!r} was made from {lab.scenario}, whose network is another",
            remedy="bring it up from this scenario",
        )
    found = (
        _managers(place, lab, intent) if lab.kind == "infiniband" else _switches(place, lab, intent)
    )
    return tuple(found)


def _switches(place: LabFolder, lab: Lab, intent: Intent) -> Iterator[FrrTarget]:
    assert intent.underlay is not None
    moved = {str(link.switch_address.network) for link in intent.underlay.host_links}
    for one in intent.underlay.routers:
        router, name = intent.router(one.device), intent.site.hostnames[one.device]
        overlay = intent.overlay(one.device)
        yield FrrTarget(
            name=name,
            pathspace=namespace_of(place.mark, router.name),
            text=frr.render_configuration(
                router, hostname=name, overlay=overlay, has_namespaces=True
            ),
            vrfs=vrfs_of(place, lab, intent, one.device),
            moved=frozenset(moved if overlay else ()),
            scratch=place.scratch,
        )


def vrfs_of(place: LabFolder, lab: Lab, intent: Intent, number: int) -> LabVrfs:
    """Return the VRFs that a lab's switch is to have."""
    router, overlay = intent.router(number), intent.overlay(number) or Overlay()
    program = lab.program(f"zebra {router.name}")
    is_alive = program is not None and is_running(program.pid, program.started)
    ports = (
        HostPort(
            name=interface_name(intent.site.plant, link.switch_port),
            vrf=vrf.name if (vrf := intent.vrf(link.host)) else "",
            address="" if intent.is_shut(link.host) else str(link.switch_address),
        )
        for cable in intent.site.cables_of[number]
        if intent.site.is_host(cable.lower)
        for link in (intent.host_link(cable.lower.device),)
    )
    return LabVrfs(
        pathspace=namespace_of(place.mark, router.name),
        zebra=program.pid if program and is_alive else 0,
        loopback=router.loopback,
        wanted=Rooms(
            rooms=frozenset(LabVrf(name=vrf.name, vni=vrf.vni) for vrf in overlay.vrfs),
            floods=frozenset(_floods(intent, number, overlay)),
            ports=frozenset(ports),
        ),
    )


def _floods(intent: Intent, number: int, overlay: Overlay) -> Iterator[Flood]:
    """Yield the other leaves that have the VRFs of a switch."""
    for vrf in overlay.vrfs:
        for leaf in intent.leaves(vrf.tenant):
            if leaf != number:
                yield Flood(vrf=vrf.name, leaf=str(intent.router(leaf).loopback))


def _managers(place: LabFolder, lab: Lab, intent: Intent) -> Iterator[OpensmTarget]:
    for network in subnets_of(place, lab, intent.site.plant):
        for index in range(len(network.managers)):
            yield _manager(place, lab, intent, network, index)


def _manager(
    place: LabFolder, lab: Lab, intent: Intent, network: Subnet, index: int
) -> OpensmTarget:
    guid = partial(ibsim_topology.port_guid_of, intent.site.plant)
    manager, name = network.managers[index], network.manager_name(index)
    program = lab.program(name)
    rendered = subnet_files(intent, guid, manager=manager, priority=len(network.managers) - index)
    return OpensmTarget(
        name=name,
        manager=manager,
        running=Running(
            pid=program.pid if program else 0, started=program.started if program else 0
        ),
        files=rendered[network.number].files,
        engine=engine_of(intent),
        client=client_of(place, network, host=network.manager_host(index)),
        keys=_sample(intent, network),
    )


def _sample(intent: Intent, network: Subnet) -> dict[int, frozenset[int]]:
    """Return the keys that some ports of each tenant shall hold; managers' hosts are left out."""
    plant = intent.site.plant
    managed = {network.manager_host(index) for index in range(len(network.managers))}
    members = [d for d in network.devices if plant.devices[d].name not in managed]
    keys = {}
    for tenant in intent.partitions:
        mine = [host for host in tenant.hosts if host in set(members)]
        for host in dict.fromkeys((*mine[:1], *mine[-1:])):
            wanted = frozenset({DEFAULT_KEY, tenant.key | FULL_MEMBER})
            keys[ibsim_topology.port_guid_of(plant, host)] = wanted
    return keys
