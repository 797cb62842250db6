"""What real devices and their ports are called, against what netloom calls them.

Devices go by a list of names. Ports go by a list too, or by a scheme that says how a vendor
numbers what stands beside its ports; schemes are as recalled from the vendors' documentation.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError, at
from netloom.ops.observe.compare import Jack
from netloom.ops.switch_systems import SWITCH_SYSTEMS, PortLabels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "Naming",
    "PortScheme",
    "parse_names",
    "parse_ports",
    "parse_scheme",
    "rows_of",
    "schemes",
]

MAX_WAYS: Final = 8
PLAIN: Final = "plain"
_PLAIN: Final = PortLabels(pattern=r"(?:swp|port|P|p)?\s?(?P<cage>\d{1,4})|eth(?P<zero>\d{1,4})")
_HOST: Final = PortLabels(pattern=r"eth(?P<zero>\d{1,4})")
# ``MF0;leaf01:MQM9700/U1`` is how a managed switch of NVIDIA describes itself.
_MANAGED: Final = re.compile(r"MF0;(?P<name>[^:;]{1,64}):[^:;]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortScheme:
    """How what stands beside a port becomes its number.

    Attributes:
        name: Whose way.
        ways: Ports that each cage is split into; for ``sonic`` the lanes of each port.
    """

    name: str = PLAIN
    ways: int = 1

    def number(self, label: str) -> int:
        """Return the number of a port, counted from 1.

        Raises:
            SpecError: the scheme has no such label.
        """
        text = label.strip()
        found = _labels(self.name).number(text, self.ways)
        if found is None:  # a host's own adapters go by the kernel's names, whatever its switch is
            found = _HOST.number(text, 1)
        if found is None:
            split = f" split into {self.ways}" if self.ways > 1 else ""
            raise SpecError(
                what=f"{label[:40]!r} is no port as {self.name} names them{split}",
                remedy=(
                    f"say how they are named with --labels ({', '.join(schemes())}), or "
                    "list them with --ports"
                ),
            )
        return found


def schemes() -> tuple[str, ...]:
    """Return the names of all schemes: plain, and those of switch systems."""
    return (PLAIN, *SWITCH_SYSTEMS.names())


def _labels(name: str) -> PortLabels:
    return _PLAIN if name == PLAIN else SWITCH_SYSTEMS.get(name).labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Our names by theirs.

    Attributes:
        devices: Our name of a device by the one it has there, where they differ.
        ports: Our number by the device's name there (or ours, or empty for any) and the label.
        scheme: For labels that *ports* does not have.
    """

    devices: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[tuple[str, str], int] = field(default_factory=dict)
    scheme: PortScheme = field(default_factory=PortScheme)

    def device(self, name: str) -> str:
        """Return what we call a device."""
        if name in self.devices:
            return self.devices[name]
        managed = _MANAGED.fullmatch(name)
        return self.devices.get(managed["name"], managed["name"]) if managed else name

    def jack(self, device: str, label: str | int) -> Jack:
        """Return the port that is called *label* on a device.

        Raises:
            SpecError: nothing says which it is.
        """
        own, text = self.device(device), str(label).strip()
        for name in (device, own, ""):
            if (name, text) in self.ports:
                return Jack(own, self.ports[name, text])
        if isinstance(label, int):  # a number of the fabric's own, as InfiniBand has
            return Jack(own, label)
        return Jack(own, self.scheme.number(text))


def parse_scheme(text: str) -> PortScheme:
    """Return the scheme that is written such as ``eos`` or ``cumulus:2``.

    Raises:
        SpecError: there is none of that name, or it cannot split so.
    """
    name, _, ways = text.partition(":")
    fine = not ways or (ways.isascii() and ways.isdigit() and 1 <= int(ways) <= MAX_WAYS)
    if fine and name in schemes():
        return PortScheme(name=name, ways=int(ways) if ways else _labels(name).default_ways)
    raise SpecError(
        option="--labels",
        what=f"{text[:40]!r} will not do",
        remedy=(
            f"write one of {', '.join(schemes())}, and behind a colon into how many "
            "ports a cage is split (for sonic, lanes a port), such as 'cumulus:2'"
        ),
    )


def rows_of(text: str, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Give the number of the line and the cells of each row; a cell that is missing is empty.

    Raises:
        SpecError: it is no CSV, or a column is missing.
    """
    rows = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        if missing:
            raise SpecError(
                what=f"columns are missing: {', '.join(missing)}",
                remedy=f"write {','.join(columns)} first",
            )
        for row in rows:
            yield rows.line_num, {key: cell.strip() for key, cell in row.items() if key}
    except csv.Error as error:
        raise SpecError(
            what=f"line {rows.line_num}: no CSV ({error})", remedy="write comma-separated values"
        ) from error


def parse_names(text: str) -> dict[str, str]:
    """Return our names by others', from a CSV file with the columns name and device.

    Raises:
        SpecError: it has no such columns, or a name twice.
    """
    names: dict[str, str] = {}
    with at("--names"):
        for number, row in rows_of(text, ("name", "device")):
            name, device = row["name"], row["device"]
            if names.get(name, device) != device:
                raise SpecError(
                    what=f"line {number}: {name[:60]!r} has two devices", remedy="keep one"
                )
            names[name] = device
    return names


def parse_ports(text: str) -> dict[tuple[str, str], int]:
    """Return our numbers of ports, from a CSV file with the columns device, label and port.

    Raises:
        SpecError: it has no such columns, a port is no number, or a label has two.
    """
    ports: dict[tuple[str, str], int] = {}
    with at("--ports"):
        for number, row in rows_of(text, ("device", "label", "port")):
            key, port = (row["device"], row["label"]), row["port"]
            whole = port.isascii() and port.isdigit() and len(port) < 6
            if not whole or ports.get(key, int(port)) != int(port):
                raise SpecError(
                    what=(
                        f"line {number}: {port[:20]!r} is not the one number of "
                        f"{' '.join(key)[:80]!r}"
                    ),
                    remedy="count ports from 1, each label once",
                )
            ports[key] = int(port)
    return ports
