"""Findings on devices that share a GUID, a LID or an address, or lack their own."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import Trouble
from netloom.ops.locate.network import looks
from netloom.ops.locate.testimony import TRUST, believed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow

__all__ = ["shared_guid_devices", "shared_identities"]


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
