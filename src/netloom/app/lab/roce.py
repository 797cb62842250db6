"""A RoCE lab: a namespace for each NIC port and switch, veth cables, FRR on every switch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.drivers import frr, netns, vty
from netloom.drivers.programs import Running, wait_for
from netloom.errors import InfeasibleError, LabError
from netloom.ops.lab import namespace_of
from netloom.ops.underlay import expected_ways, interface_name, underlay_of

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.app.lab.store import LabFolder
    from netloom.ops.lab import Lab
    from netloom.ops.plant import Cable, Plant, Port
    from netloom.ops.underlay import BgpRouter, HostLink, Underlay

__all__ = [
    "HOST_RATE_BPS",
    "PROGRAMS",
    "bring_up",
    "cable_ends",
    "end_of",
    "lab_rate_bps",
    "lay_cables",
]

PROGRAMS: Final = ("ip", "tc", "nft", "nsenter", "vtysh", "zebra", "bgpd", "bfdd")
MAX_SWITCHES: Final = 64  # of three daemons each
MAX_HOSTS: Final = 512
HOST_RATE_BPS: Final = 100e6  # of a host's cable; all others in the scenario's proportion
CONVERGENCE_S: Final = 300.0


def end_of(place: LabFolder, plant: Plant, port: Port) -> netns.End:
    """Return the interface that is a port of the plant."""
    return netns.End(
        namespace=namespace_of(place.mark, plant.devices[port.device].name),
        interface=interface_name(plant, port),
    )


def cable_ends(place: LabFolder, plant: Plant, cable: Cable) -> tuple[netns.End, netns.End]:
    """Return both ends of a cable, the lower first."""
    return end_of(place, plant, cable.lower), end_of(place, plant, cable.upper)


def lab_rate_bps(plant: Plant, cable: Cable) -> float:
    """Return what a cable carries in the lab: the scenario's proportions, scaled down."""
    host_bps = max(c.rate_bps for c in plant.cables if plant.devices[c.lower.device].role == "host")
    return HOST_RATE_BPS * cable.rate_bps / host_bps


def check_size(plant: Plant) -> None:
    """Raise InfeasibleError when the lab would be larger than one machine holds."""
    if len(plant.switches) > MAX_SWITCHES or len(plant.hosts) > MAX_HOSTS:
        raise InfeasibleError(
            what=(
                f"{len(plant.switches)} switches and {len(plant.hosts):,} NIC ports; a "
                f"RoCE lab goes to {MAX_SWITCHES} and {MAX_HOSTS}"
            ),
            remedy="give the scenario fewer nodes",
        )


def bring_up(place: LabFolder, lab: Lab, plant: Plant) -> Lab:
    """Make and start everything, and return the record once all routes are there.

    Raises:
        InfeasibleError: the lab would be too large.
        LabError: we are not root, a program is missing, or does not come up.
    """
    netns.check_root()
    check_size(plant)
    underlay = underlay_of(plant)
    names = {d.name: namespace_of(place.mark, d.name) for d in plant.devices}
    netns.add(list(names.values()))
    for device in plant.devices:
        netns.configure(names[device.name], forwards=device.role == "switch")
        netns.batch([["link", "set", "lo", "up"]], namespace=names[device.name])
    lay_cables(place, plant, plant.cables)
    for link in underlay.host_links:
        address_host(place, plant, link)
    for router in underlay.routers:
        lab = _start_zebra(place, lab, router)
    for router in underlay.routers:
        lab = _start_others(place, lab, router)
    for router in underlay.routers:
        _configure_router(place, lab, router)
    _wait_converged(place, plant, underlay)
    return place.write(replace(lab, phase="up"))


def lay_cables(place: LabFolder, plant: Plant, cables: tuple[Cable, ...]) -> None:
    """Put cables between the namespaces, each up and shaped in both directions."""
    netns.batch(
        command
        for cable in cables
        for command in netns.cable_commands(*cable_ends(place, plant, cable))
    )
    rates: dict[str, dict[str, float]] = defaultdict(dict)
    for cable in cables:
        for end in cable_ends(place, plant, cable):
            rates[end.namespace][end.interface] = lab_rate_bps(plant, cable)
    for namespace, rates_bps in rates.items():
        netns.batch((["link", "set", name, "up"] for name in rates_bps), namespace=namespace)
        netns.shape(namespace, rates_bps)


def address_host(place: LabFolder, plant: Plant, link: HostLink) -> None:
    """Give a host and its switch port their addresses, and the host its way out."""
    host = namespace_of(place.mark, plant.devices[link.host].name)
    switch = end_of(place, plant, link.switch_port)
    netns.batch(
        [["addr", "replace", str(link.switch_address), "dev", switch.interface]],
        namespace=switch.namespace,
    )
    netns.batch(
        [
            ["addr", "replace", str(link.host_address), "dev", "eth0"],
            ["route", "replace", "default", "via", str(link.switch_address.ip)],
        ],
        namespace=host,
    )


def _start_zebra(place: LabFolder, lab: Lab, router: BgpRouter) -> Lab:
    pathspace = namespace_of(place.mark, router.name)
    frr.make_folders(pathspace, frr.render_configuration(router))
    output, env = _output(place, router, "zebra"), place.environment
    begin = partial(frr.start_daemon, "zebra", pathspace, output=output, env=env)
    return place.starting(lab, f"zebra {router.name}", begin)[0]


def _start_others(place: LabFolder, lab: Lab, router: BgpRouter) -> Lab:
    """Start the daemons that join zebra, once it is where it shall be."""
    pathspace, zebra = namespace_of(place.mark, router.name), _daemon(lab, router, "zebra")
    output, env = _output(place, router, "zebra"), place.environment
    frr.wait_ready("zebra", pathspace, running=zebra, output=output)
    for daemon in frr.DAEMONS[1:]:
        output = _output(place, router, daemon)
        begin = partial(
            frr.start_daemon, daemon, pathspace, output=output, env=env, zebra=zebra.pid
        )
        lab, _ = place.starting(lab, f"{daemon} {router.name}", begin)
    return lab


def _daemon(lab: Lab, router: BgpRouter, daemon: str) -> Running:
    program = lab.program(f"{daemon} {router.name}")
    assert program is not None, daemon
    return Running(pid=program.pid, started=program.started)


def _output(place: LabFolder, router: BgpRouter, daemon: str) -> Path:
    return place.scratch / f"{daemon}-{router.name.replace(':', '-')}.out"


def _configure_router(place: LabFolder, lab: Lab, router: BgpRouter) -> None:
    pathspace = namespace_of(place.mark, router.name)
    for daemon in frr.DAEMONS:
        running, output = _daemon(lab, router, daemon), _output(place, router, daemon)
        frr.wait_ready(daemon, pathspace, running=running, output=output)
    frr.load_configuration(pathspace)


def _wait_converged(place: LabFolder, plant: Plant, underlay: Underlay) -> None:
    """Return when every switch forwards to every host over all of its shortest ways.

    BFD comes up a little later than BGP; a look before that would call it a fault.
    """
    wanted = expected_ways(plant, underlay)
    waiting = list(underlay.routers)

    def converged() -> bool | None:
        waiting[:] = [r for r in waiting if not _forwards(place, r, wanted[r.device])]
        return None if waiting else True

    if wait_for(converged, timeout_s=CONVERGENCE_S, step_s=0.1) is None:
        names = ", ".join(router.name for router in waiting[:5])
        raise LabError(
            what=f"no routes to all hosts after {CONVERGENCE_S:g} s on {names}",
            remedy="see vtysh there",
        )


def _forwards(place: LabFolder, router: BgpRouter, wanted: dict[str, tuple[str, ...]]) -> bool:
    space = namespace_of(place.mark, router.name)
    held = {r.prefix: r.interfaces for r in frr.fib(space)}
    if not all(held.get(prefix) == ways for prefix, ways in wanted.items()):
        return False
    answering = {session.interface for session in vty.bfd_sessions(space) if session.is_up}
    return answering >= set(router.peers)
