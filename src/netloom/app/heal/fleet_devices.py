"""The devices of an inventory that may be changed, and which of them an act is for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.inventory import access_of, read_inventory
from netloom.errors import LabError, SpecError, at
from netloom.fabric.part_id import CABLE, NODE, PartId
from netloom.ops.heal.actuators import ACTUATORS
from netloom.ops.heal.devices import SettingChange
from netloom.ops.observe.naming import parse_scheme
from netloom.ops.observe.port_names import PortNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping
    from pathlib import Path

    from netloom.ops.heal.devices import ChangeKind, DeviceWriter
    from netloom.ops.heal.plan import Act
    from netloom.ops.observe.naming import Naming
    from netloom.ops.plant import Plant, Port
    from netloom.spec.heal import Verb

__all__ = ["FleetDevices", "WritableDevice", "open_devices"]

NUMBER: Final = "{node}"  # in labels of a scheduler: the number of the machine
# What a drain of a cable sets, the gentlest first.
DRAINS: Final[tuple[ChangeKind, ...]] = ("session", "port")


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableDevice:
    """A device that may be changed.

    Attributes:
        name: As in the inventory.
        kind: Of actuator.
        writer: What changes it.
        verbs: What that can do.
        names: What its ports are in the design.
        labels: How it names ports or nodes, as the inventory has it.
    """

    name: str
    kind: str
    writer: DeviceWriter
    verbs: frozenset[Verb]
    names: PortNames
    labels: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDevices:
    """All of them.

    Attributes:
        plant: As designed.
        devices: In the order of the inventory.
        seen: Labels of ports by what the design calls them, as the devices told them.
    """

    plant: Plant
    devices: tuple[WritableDevice, ...]
    seen: MutableMapping[str, str] = field(default_factory=dict)

    @property
    def verbs(self) -> frozenset[Verb]:
        """What can be done at all."""
        return frozenset(verb for one in self.devices for verb in one.verbs)

    def named(self, name: str, kind: str) -> WritableDevice:
        """Return the device of that name and kind.

        Raises:
            LabError: there is none that may be changed.
        """
        for one in self.devices:
            if (one.name, one.kind) == (name, kind):
                return one
        raise LabError(
            what=f"the inventory has no {kind} {name!r} that may be changed",
            remedy="put it back, with write: true",
        )

    def changes_of(self, act: Act) -> tuple[tuple[WritableDevice, SettingChange], ...]:
        """Return what an act sets on which device, the first to be tried first; none if it cannot.

        A cable is taken out of use at every end that may be changed.
        """
        if act.verb == "cordon" and act.part.kind == NODE:
            return tuple(self._of_node(act.part))[:1]
        if act.verb not in ("drain", "shut"):
            return ()
        if act.part.kind != CABLE:
            own = self._at(str(act.part), act.verb, "switch")
            return tuple((one, SettingChange(kind="switch")) for one in own)[:1]
        (cable,) = self.plant.cables_of(act.part)
        ends = (self._of_port(port, act.verb) for port in (cable.upper, cable.lower))
        return tuple(end for end in ends if end is not None)

    def _of_port(self, port: Port, verb: Verb) -> tuple[WritableDevice, SettingChange] | None:
        name = self.plant.devices[port.device].name
        kinds: tuple[ChangeKind, ...] = DRAINS if verb == "drain" else ("port",)
        for kind in kinds:
            for device in self._at(name, verb, kind):
                label = self._label(device, self.plant.port_name(port), port.number)
                if label:
                    return device, SettingChange(kind=kind, label=label)
        return None

    def _at(self, part: str, verb: Verb, kind: ChangeKind) -> Iterator[WritableDevice]:
        for one in self.devices:
            if verb not in one.verbs or kind not in one.writer.changes:
                continue
            own = {str(p).partition("[")[0] for p in one.names.ports.values() if isinstance(p, str)}
            if one.names.device == part or part in own:
                yield one

    def _of_node(self, part: PartId) -> Iterator[tuple[WritableDevice, SettingChange]]:
        for one in self.devices:
            if "node" not in one.writer.changes:
                continue
            listed = [label for label, own in one.names.ports.items() if own == str(part)]
            if not listed and NUMBER in one.labels:
                listed = [one.labels.replace(NUMBER, str(part.index))]
            if listed:
                yield one, SettingChange(kind="node", label=listed[0])

    def _label(self, device: WritableDevice, part: str, number: int) -> str:
        """Return what a device calls a port: as listed, as it told itself, or by its scheme."""
        listed = [label for label in device.names.ports if device.names.port(label) == part]
        if listed:
            return listed[0]
        if part in self.seen:
            return self.seen[part]
        ways = device.names.scheme.ways if device.names.scheme else 1
        fits = {label for label in _candidates(number, ways) if device.names.port(label) == part}
        return fits.pop() if len(fits) == 1 else ""  # a guess may be another port

    def node_of(self, device: WritableDevice, label: str) -> PartId | None:
        """Return the machine that a scheduler calls *label*; None where nothing says which."""
        listed = device.names.ports.get(label)
        if isinstance(listed, str):
            try:
                return PartId.parse(listed)
            except SpecError:
                return None
        head, found, tail = device.labels.partition(NUMBER)
        middle = label[len(head) : len(label) - len(tail)]
        is_so = found and label == f"{head}{middle}{tail}" and middle.isascii()
        return PartId.node(int(middle)) if is_so and middle.isdigit() else None


def _candidates(number: int, ways: int) -> Iterator[str]:
    """Give what a port may be called, by any scheme; a cage that is whole has no second number.

    EOS names some whole cages ``Ethernet3`` and others ``Ethernet3/1``: both fit, and neither is
    taken.
    """
    cage, way = divmod(number - 1, max(ways, 1))
    yield f"Ethernet{ways * (number - 1)}"
    yield f"Ethernet{cage + 1}/{way + 1}"
    if ways == 1:
        yield f"Ethernet{number}"
        yield f"swp{number}"
    else:
        yield f"swp{cage + 1}s{way}"
    yield str(number)


def open_devices(
    path: Path, plant: Plant, naming: Naming, *, environ: Mapping[str, str] | None = None
) -> FleetDevices:
    """Return the devices of an inventory that may be changed: those with ``write: true``.

    Args:
        path: The inventory.
        plant: As designed.
        naming: What devices and ports are called elsewhere.
        environ: Where secrets may be; default: this process's environment.

    Raises:
        SpecError: the file is wrong, a device may be changed and its kind cannot, or a secret
            cannot be read.
    """
    found = read_inventory(path)
    opened = []
    for number, device in enumerate(found.devices):
        if not device.write:
            continue
        with at(f"devices[{number}]", file=str(path)):
            kind = ACTUATORS.get(device.kind) if device.kind in ACTUATORS else None
            if kind is None or kind.writer is None:
                known = [one.name for one in ACTUATORS.entries() if one.writer is not None]
                raise SpecError(
                    key="write",
                    what=f"{device.kind!r} changes no device",
                    remedy=f"use one of {', '.join(known)}, or write: false",
                )
            access = access_of(device, found, path.parent, environ or os.environ)
            labels = "" if NUMBER in (device.labels or "") else device.labels or kind.labels
            opened.append(
                WritableDevice(
                    name=device.name,
                    kind=kind.name,
                    writer=kind.writer(access),
                    verbs=kind.verbs,
                    names=PortNames(
                        name=device.name,
                        part=device.part or "",
                        ports=device.ports,
                        naming=naming,
                        scheme=parse_scheme(labels) if labels else None,
                    ),
                    labels=device.labels or "",
                )
            )
    return FleetDevices(plant=plant, devices=tuple(opened))
