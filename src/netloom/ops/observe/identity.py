"""Devices that answer to the same identity: a GUID, a LID or an address that two of them have.

What is told goes by two names, ``nic:4 nic:5``: the device, and the other one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.ops.observe.compare import Jack
from netloom.ops.observe.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from netloom.ops.plant import Plant

__all__ = ["ScannedPort", "shared_addresses", "shared_guids", "shared_lids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPort:
    """A port as a scan of an InfiniBand subnet tells it.

    Attributes:
        jack: Which.
        lid: Of its device; 0 where it has none yet.
        is_up: Whether it is active.
        peer: What it is joined to; None where nothing is known to be there.
    """

    jack: Jack
    lid: int
    is_up: bool
    peer: Jack | None


def shared_guids(
    plant: Plant, ports: Iterable[ScannedPort], time_s: float
) -> Iterator[Observation]:
    """Give the pairs of devices that answer with one GUID.

    A scan takes the two for one device: one of them is not seen at all, the port where it belongs
    leads to the other, and the port where that one belongs is active with nothing behind it. A
    cable that was moved would have left that port down.
    """
    rows = {one.jack: one for one in ports}
    seen = {jack.device for jack in rows}
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            own = Jack(plant.devices[here.device].name, here.number)
            far = rows.get(Jack(plant.devices[there.device].name, there.number))
            if own.device in seen or far is None or far.peer is None:
                continue
            other = far.peer.device
            left = rows.get(_designed_peer(plant, far.peer) or own)
            if other != own.device and left is not None and left.is_up and left.peer is None:
                yield Observation(time_s, f"{own.device} {other}", "guid_shared", 1.0)


def _designed_peer(plant: Plant, jack: Jack) -> Jack | None:
    """Return the port that *jack* should be joined to."""
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            if (plant.devices[here.device].name, here.number) == jack:
                return Jack(plant.devices[there.device].name, there.number)
    return None


def shared_lids(ports: Iterable[ScannedPort], time_s: float) -> Iterator[Observation]:
    """Give the pairs of devices that have one LID."""
    holders: dict[int, dict[str, None]] = defaultdict(dict)
    for one in ports:
        if one.lid:
            holders[one.lid][one.jack.device] = None
    for lid, names in sorted(holders.items()):
        first, *others = sorted(names)
        for other in others:
            yield Observation(time_s, f"{other} {first}", "lid_shared", float(lid))


def shared_addresses(
    owners: Mapping[int, str], held: Iterable[tuple[str, int]], time_s: float
) -> Iterator[Observation]:
    """Give the devices that hold an address of another, and those without one of their own.

    Args:
        owners: The device that each address belongs to by design; addresses as numbers.
        held: Devices and the addresses that they have.
        time_s: When that was seen.
    """
    holders: dict[int, dict[str, None]] = defaultdict(dict)
    for device, address in held:
        holders[address][device] = None
    for address, names in sorted(holders.items()):
        first = owners.get(address, min(names))
        if len(names) > 1 or address in owners:
            for other in sorted(names.keys() - {first}):
                yield Observation(time_s, f"{other} {first}", "address_shared", float(address))
    for address, owner in sorted(owners.items()):
        if owner not in holders.get(address, {}):
            yield Observation(time_s, f"{owner} {address}", "address_missing", float(address))
