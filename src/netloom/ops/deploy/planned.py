"""Whether a switch's configuration is that of the switch on the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.deploy.rules import Broken
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.intent import Intent
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

    PortName = Callable[[Site, Port], str]

__all__ = ["check_links", "check_planned"]


def check_planned(
    intent: Intent, number: int, port_name: PortName, device: DeviceConfig
) -> Iterator[Broken]:
    """Yield where a switch differs from the plan: its ports, their speeds, state and sessions.

    Args:
        intent: What was asked for.
        number: Of the switch.
        port_name: Returns what its system calls a port.
        device: It, as its files have it.
    """
    if device.asn is None:
        what = "has no autonomous system: no BGP session comes up"
        yield _error(device.where, what, "render it again")
    if device.ports:
        yield from _ports(intent, number, port_name, device)
    yield from _sessions(intent, number, port_name, device)


def _ports(
    intent: Intent, number: int, port_name: PortName, device: DeviceConfig
) -> Iterator[Broken]:
    site = intent.site
    for cable in site.cables_of[number]:
        own, peer = peer_of(cable, number)
        name = port_name(site, own)
        port = device.ports.get(name)
        where = f"{device.where}: {name}"
        is_shut = site.is_host(peer) and intent.is_shut(peer.device)
        if port is None:
            yield _error(where, "is on the plan and not in the file", "render it again")
        elif not port.is_up and not is_shut:
            yield _error(where, "is switched off, and a cable is planned there", "switch it on")
        elif port.rate_bps is not None and port.rate_bps != cable.rate_bps:
            what = f"its speed is {port.rate_bps / 1e9:g} Gb/s, its cable's "
            yield _error(where, f"{what}{cable.rate_bps / 1e9:g}", "set the speed of the cable")
        elif port.num_ways not in {None, site.cage(own).num_slots}:
            what = f"its cage is split {port.num_ways} ways, on the plan {site.cage(own).num_slots}"
            yield _error(where, what, "split it as planned")


def _sessions(
    intent: Intent, number: int, port_name: PortName, device: DeviceConfig
) -> Iterator[Broken]:
    """Yield links between switches without a session, or with one to another system."""
    site = intent.site
    sessions = {one.name: one for one in device.neighbours}
    for cable in site.cables_of[number]:
        own, peer = peer_of(cable, number)
        if site.is_host(peer):
            continue
        name, asn = port_name(site, own), intent.router(peer.device).asn
        where = f"{device.where}: {name}"
        if name not in sessions:
            yield _error(where, "has no BGP session, and a switch is planned there", "add it")
        elif sessions[name].remote_as not in {None, asn}:
            what = f"expects autonomous system {sessions[name].remote_as}, on the plan {asn}"
            yield _error(where, what, "give the session its neighbour's")


def check_links(intent: Intent, devices: Sequence[tuple[int, DeviceConfig]]) -> Iterator[Broken]:
    """Yield links whose two ends are in one autonomous system: eBGP does not come up there."""
    site = intent.site
    found = dict(devices)
    links = {
        (cable.lower.device, cable.upper.device)
        for cable in site.plant.cables
        if not site.is_host(cable.lower)
    }
    for one, other in sorted(links):
        if one not in found or other not in found or found[one].asn is None:
            continue
        if found[one].asn == found[other].asn:
            what = f"is in autonomous system {found[one].asn}, as is its neighbour "
            yield _error(
                found[one].where,
                f"{what}{site.hostnames[other]}",
                "number systems by tier: RFC 7938, section 5.2",
            )


def _error(where: str, what: str, remedy: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy=remedy)
