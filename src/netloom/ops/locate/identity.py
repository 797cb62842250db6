"""Findings on devices that share a GUID, a LID or an address, or lack their own."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

from netloom.fabric.names import vertex_name
from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, believed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.spec.observed import Observed

__all__ = ["shared_guid_devices", "shared_identities", "unaddressed", "without_unaddressed"]


def _address(value: float) -> str:
    return str(IPv4Address(int(value))) if 0 <= value < 2**32 else "an address"


# By metric: the kind, and what it says of a device, another and a value.
SAYS: Final[dict[str, tuple[Trouble, Callable[[str, str, float], str]]]] = {
    "guid_shared": (
        Trouble.DUPLICATE_GUID,
        lambda one, other, _: f"{one} and {other} answer with one GUID: a scan sees {other} twice",
    ),
    "lid_shared": (
        Trouble.DUPLICATE_LID,
        lambda one, other, value: f"{one} and {other} both have LID {value:.0f}",
    ),
    "address_shared": (
        Trouble.DUPLICATE_ADDRESS,
        lambda one, other, value: f"{one} has {_address(value)}, which is {other}'s",
    ),
    "address_missing": (
        Trouble.MISSING_ADDRESS,
        lambda one, _, value: f"{one} does not have {_address(value)}, which is its own by design",
    ),
}


def shared_identities(network: DesignedNetwork, heard: TelemetryWindow) -> Iterator[Finding]:
    """Give the devices that are not the only ones, or not the ones, to answer to their identity."""
    for metric, (kind, says) in SAYS.items():
        for name, track in sorted(heard.of(metric).items()):
            one, _, other = name.partition(" ")
            part = network.part_called(one)
            if part is None or track.last is None or one not in network.by_device:
                continue
            (report,) = heard.said(metric, name, lambda _: True)
            text = f"{says(one, other, track.last)}, at {looks(report.num_looks)}"
            found = network.finding(part, kind, text, confidence=believed(TRUST[kind], [report]))
            hurts = {*network.gpus.get(one, ()), *network.gpus.get(other, ())}
            yield replace(found, hurts=tuple(sorted(hurts)))


def shared_guid_devices(heard: TelemetryWindow) -> set[str]:
    """Return the devices whose cables a scan cannot place, because they share a GUID."""
    pairs = [name for name, track in heard.of("guid_shared").items() if track.last is not None]
    return {one for name in pairs for one in name.split(" ")}


def unaddressed(network: DesignedNetwork, heard: TelemetryWindow) -> set[str]:
    """Return the hosts that no packet can be sent to: an address of their network is not there."""
    missing = {track.last for track in heard.of("address_missing").values()} - {None}
    return _hosts_at(network, missing)


def without_unaddressed(
    network: DesignedNetwork, heard: TelemetryWindow, observed: Observed
) -> Observed:
    """Return *observed* less the flows that go wrong for the sake of an address.

    They are those to and from hosts whose network lacks an address, or one of whose addresses
    another device has too: what they lose says nothing of links and switches.
    """
    shared = {track.last for track in heard.of("address_shared").values()} - {None}
    hosts = {*unaddressed(network, heard), *_hosts_at(network, shared)}
    cut = {vertex_name(network.fabric, gpu) for host in hosts for gpu in network.gpus[host]}
    if not cut:
        return observed
    kept = tuple(f for f in observed.flows if cut.isdisjoint((f.source, f.target)))
    return observed.model_copy(update={"flows": kept})


def _hosts_at(network: DesignedNetwork, addresses: Collection[float | None]) -> set[str]:
    """Return the hosts in whose networks some addresses, as numbers, lie."""
    if not addresses:
        return set()
    return {
        network.plant.devices[link.host].name
        for link in network.underlay.host_links
        if {float(int(one.ip)) for one in (link.host_address, link.switch_address)} & {*addresses}
    }
