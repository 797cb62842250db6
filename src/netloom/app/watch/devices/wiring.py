"""What ports see at the other end of their cables, and their speeds, against the design.

A neighbour that is not seen says nothing: few hosts speak LLDP. One that is seen and is another
than designed is a cable in the wrong place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from netloom.ops.locate.telemetry import CABLING
from netloom.ops.observe.compare import TOLERANCE
from netloom.ops.observe.observation import Event, Observation, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.app.watch.devices.collector import DeviceCollector
    from netloom.ops.observe.devices import SeenNeighbour
    from netloom.ops.observe.port_names import PortNames
    from netloom.ops.plant import Plant

__all__ = ["WiringAudit"]


@dataclass(kw_only=True, eq=False)
class WiringAudit:
    """Compares neighbours and speeds with the design, after the devices that tell them were read.

    Attributes:
        plant: As designed.
        devices: Those that may tell neighbours.
        unknown: What other devices call themselves and their ports, where the inventory does not
            have them.
    """

    plant: Plant
    devices: Sequence[DeviceCollector]
    unknown: PortNames

    @property
    def source(self) -> str:
        """Its name."""
        return "wiring"

    def read(self, time_s: float, cursor: str) -> Reading:
        """Compare what was just seen."""
        wrong: Counter[int] = Counter()
        events = []
        for port, there, text in self._seen():
            number = self._cables.get(port)
            if number is not None and there != self._peers[port]:
                wrong[number] += 1
                events.append(_event(time_s, port, f"{text} instead of {self._peers[port]}"))
        seen = [
            Observation(time_s, f"cable:{number}", CABLING["misplaced"], float(count))
            for number, count in sorted(wrong.items())
        ]
        seen += [
            Observation(time_s, f"cable:{number}", CABLING["wrong-speed"], factor)
            for number, factor in sorted(self._slowdowns().items())
            if number not in wrong
        ]
        return Reading(
            source=self.source,
            time_s=time_s,
            observations=seen,
            events=events,
            cursor=cursor,
            is_whole=True,
        )

    def _slowdowns(self) -> dict[int, float]:
        """Return how many times slower than designed cables run; only those that differ."""
        found: dict[int, float] = {}
        for device in self.devices:
            for port, rate_bps in device.rates_bps.items():
                number = self._cables.get(port)
                if number is None or rate_bps <= 0:
                    continue
                factor = self._rates_bps[number] / rate_bps
                if abs(1 / factor - 1) > TOLERANCE:
                    found[number] = max(factor, found.get(number, factor))
        return found

    def _seen(self) -> Iterator[tuple[str, str, str]]:
        """Give ports of the design, the ports they see, and both in words.

        A port that sees several, as one behind a hub or with an old neighbour, says nothing; nor
        does one whose neighbour's port nothing names.
        """
        for device in self.devices:
            told = device.neighbours or ()
            counts = Counter((one.here, one.port) for one in told)
            for one in told:
                names = device.names_of(one.here)
                port = names.port(one.port, device.aliases.get(one.port, ""))
                there = self._port_there(one)
                if counts[one.here, one.port] == 1 and port is not None and there is not None:
                    yield port, there, f"{port} sees {there}"

    def _port_there(self, one: SeenNeighbour) -> str | None:
        known = self._named.get(one.device)
        if known is None:
            device = self.unknown.naming.device(one.device)
            if device not in self._devices:
                return None
            return type(self.unknown)(name=device, naming=self.unknown.naming).port(one.device_port)
        label = self._labels.get(one.device, {}).get(one.device_port, one.device_port)
        return known.port(label, one.device_port)

    @property
    def _labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels of ports by their aliases, by device."""
        return {
            one.names.name: {alias: label for label, alias in one.aliases.items()}
            for one in self.devices
            if one.aliases
        }

    @cached_property
    def _named(self) -> Mapping[str, PortNames]:
        return {one.names.name: one.names for one in self.devices}

    @cached_property
    def _devices(self) -> frozenset[str]:
        return frozenset(device.name for device in self.plant.devices)

    @cached_property
    def _cables(self) -> Mapping[str, int]:
        name = self.plant.port_name
        return {name(port): cable.number for cable in self.plant.cables for port in cable.ends}

    @cached_property
    def _rates_bps(self) -> Mapping[int, float]:
        return {cable.number: cable.rate_bps for cable in self.plant.cables}

    @cached_property
    def _peers(self) -> Mapping[str, str]:
        name = self.plant.port_name
        pairs = [tuple(map(name, cable.ends)) for cable in self.plant.cables]
        return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


def _event(time_s: float, part: str, text: str) -> Event:
    return Event(time_s=time_s, part=part, kind="wrong-neighbour", text=text, key=f"{part} {text}")
