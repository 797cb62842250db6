"""The devices of an inventory file, opened as collectors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.app.watch.devices.collector import DeviceCollector
from netloom.app.watch.devices.health import RestPolicy
from netloom.app.watch.devices.poller import Poller
from netloom.app.watch.devices.wiring import WiringAudit
from netloom.drivers.devices.credentials import read_secret
from netloom.errors import SpecError, at
from netloom.ops.heal.actuators import ACTUATORS
from netloom.ops.observe.collectors import COLLECTORS
from netloom.ops.observe.devices import DeviceAccess
from netloom.ops.observe.naming import parse_scheme
from netloom.ops.observe.port_names import PortNames
from netloom.spec.files import read_text
from netloom.spec.inventory.file import MAX_INVENTORY_BYTES, Inventory, parse_inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from netloom.ops.observe.collectors import CollectContext, CollectorKind
    from netloom.ops.observe.observation import Collector
    from netloom.spec.inventory.file import InventoryDevice

__all__ = ["OpenInventory", "access_of", "open_inventory", "read_inventory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInventory:
    """Devices that can be looked at.

    Attributes:
        collectors: One for each line, and behind them their comparison with the design.
        vital: Names of those without which no finding may be closed.
    """

    collectors: tuple[Collector, ...]
    vital: frozenset[str]


def read_inventory(path: Path) -> Inventory:
    """Return the inventory in a file.

    Raises:
        SpecError: it cannot be read or is wrong.
    """
    text = read_text(path, max_bytes=MAX_INVENTORY_BYTES, wanted="an inventory file")
    return parse_inventory(text, name=str(path))


def open_inventory(
    path: Path,
    context: CollectContext,
    *,
    environ: Mapping[str, str] | None = None,
    wanted: Callable[[InventoryDevice], bool] = lambda _: True,
) -> OpenInventory:
    """Return the devices of an inventory file as collectors.

    Args:
        path: The file.
        context: What collectors may need to know.
        environ: Where secrets may be; default: this process's environment.
        wanted: Which of them; default: all.

    Raises:
        SpecError: the file is wrong, a kind is not known or is none of devices, or a secret cannot
            be read or can be read by others.
    """
    found = read_inventory(path)
    surroundings = os.environ if environ is None else environ
    poller = Poller()
    opened: list[DeviceCollector] = []
    vital: set[str] = set()
    for number, device in enumerate(found.devices):
        if not wanted(device) or _only_writes(device):
            continue
        with at(f"devices[{number}]", file=str(path)):
            kind = _kind(device)
            access = access_of(device, found, path.parent, surroundings)
            one = _collector(device, access, kind, found, context=context, poller=poller)
        opened.append(one)
        vital |= {one.source} if kind.is_vital(one.source) else set()
    audit = WiringAudit(
        plant=context.designed.plant,
        devices=tuple(opened),
        unknown=PortNames(name="", naming=context.naming),
    )
    return OpenInventory(collectors=(*opened, audit), vital=frozenset(vital))


def _only_writes(device: InventoryDevice) -> bool:
    """Return whether a line is there for changing the device: nothing is asked by it."""
    return device.kind not in COLLECTORS and device.kind in ACTUATORS


def _kind(device: InventoryDevice) -> CollectorKind:
    kind = COLLECTORS.get(device.kind)
    if kind.opened is None:
        known = [one.name for one in COLLECTORS.entries() if one.opened is not None]
        raise SpecError(
            key="kind",
            what=f"{device.kind!r} looks at no device",
            remedy=f"choose one of {', '.join(known)}",
        )
    return kind


def access_of(
    device: InventoryDevice, found: Inventory, folder: Path, environ: Mapping[str, str]
) -> DeviceAccess:
    """Return how to ask a device of an inventory.

    Args:
        device: Which.
        found: The inventory, for its defaults.
        folder: What the paths of files are relative to.
        environ: The environment.

    Raises:
        SpecError: a secret cannot be read, or can be read by others.
    """
    credentials = device.credentials or found.defaults.credentials
    certificate = device.certificate or found.defaults.certificate
    return DeviceAccess(
        name=device.name,
        address=device.address,
        user=credentials.user or "",
        secret=read_secret(credentials, folder=folder, environ=environ),
        certificate=folder / certificate if certificate else None,
        deadline_s=device.deadline_s or found.defaults.deadline_s,
        may_write=device.write,
    )


def _collector(
    device: InventoryDevice,
    access: DeviceAccess,
    kind: CollectorKind,
    found: Inventory,
    *,
    context: CollectContext,
    poller: Poller,
) -> DeviceCollector:
    assert kind.opened is not None
    labels = device.labels or kind.labels
    names = PortNames(
        name=device.name,
        part=device.part or "",
        ports=device.ports,
        naming=context.naming,
        scheme=parse_scheme(labels) if labels else None,
    )
    return DeviceCollector(
        source=f"{device.kind} {device.name}",
        look=kind.opened(access, context),
        names=names,
        deadline_s=access.deadline_s,
        policy=RestPolicy(
            first_s=found.defaults.rest_s,
            most_s=max(found.defaults.rest_s, found.defaults.most_rest_s),
        ),
        poller=poller,
    )
