"""A network as built, from files: ibnetdiscover, LLDP of every device, or a list of cables."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from netloom.adapters.ibdiags_text import parse_links, parse_ports, parse_topology
from netloom.adapters.lldp import parse_neighbours
from netloom.adapters.watch.infiniband import built_of_links
from netloom.errors import LabError, SpecError, at
from netloom.ops.observe.compare import Built, BuiltCable, Jack
from netloom.units import RATE, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["built_from", "parse_cable_list", "parse_names", "port_number", "rate_of_name"]

MOST_BYTES: Final = 256 * 2**20
COLUMNS: Final = ("a_device", "a_port", "b_device", "b_port")

# Nominal Gbit/s of a lane: IBTA's speeds.
LANES_GBPS: Final = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}

_PORT: Final = re.compile(r"(?:swp|port|P|p)?\s?(\d{1,4})|eth(\d{1,4})", re.ASCII)
_RATE: Final = re.compile(r"(\d{1,2})x\s?([A-Z]{3}(?:10)?)", re.ASCII)


def built_from(path: Path, names: Mapping[str, str]) -> Built:
    """Return the cables that a file or a folder tells of.

    Args:
        path: What ``ibnetdiscover`` (also with ``-p``) or ``iblinkinfo -l`` printed, a CSV file
            with the columns a_device, a_port, b_device, b_port and perhaps rate, or a folder
            with what ``lldpctl -f json0`` printed on each device in ``DEVICE.json``.
        names: Our name of a device by the one it has there, where they differ.

    Raises:
        SpecError: it is none of these.
    """
    if path.is_dir():
        return _built_of_lldp(path, names)
    text = _text(path)
    with at(str(path)):
        head = next((line for line in text.splitlines() if line.strip()), "")
        if "a_device" in head:
            return parse_cable_list(text, names)
        try:
            return _built_of_diags(text, names)
        except LabError as error:
            message = (
                "it is not what ibnetdiscover or iblinkinfo -l prints, nor a CSV file with the "
                f"columns {', '.join(COLUMNS)}"
            )
            raise SpecError(message) from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); name another file"
        raise SpecError(message) from error


def _built_of_diags(text: str, names: Mapping[str, str]) -> Built:
    if "switchguid=" in text or "caguid=" in text:
        return _built_of_nodes(text, names)
    if "==(" in text:
        return built_of_links(parse_links(text), names)
    rows = parse_ports(text)
    cables = tuple(
        BuiltCable(
            one=Jack(names.get(row.name, row.name), row.port),
            other=Jack(names.get(row.peer_name, row.peer_name), row.peer_port),
            rate_bps=rate_of_name(f"{row.width}{row.speed}"),
        )
        for row in rows
        if row.peer_name is not None and row.peer_port is not None
    )
    return Built(cables=cables, devices=frozenset(names.get(r.name, r.name) for r in rows))


def _built_of_nodes(text: str, names: Mapping[str, str]) -> Built:
    nodes = parse_topology(text)
    cables = tuple(
        BuiltCable(
            one=Jack(names.get(node.name, node.name), port.port),
            other=Jack(names.get(port.peer_name, port.peer_name), port.peer_port),
            rate_bps=rate_of_name(port.rate),
        )
        for node in nodes
        for port in node.ports
    )
    return Built(cables=cables, devices=frozenset(names.get(n.name, n.name) for n in nodes))


def rate_of_name(name: str) -> float | None:
    """Return the nominal rate of a link called such as ``4xHDR``; None where it is not known."""
    match = _RATE.fullmatch(name.strip())
    if match is None or match[2] not in LANES_GBPS:
        return None
    return int(match[1]) * LANES_GBPS[match[2]] * 1e9


def _built_of_lldp(folder: Path, names: Mapping[str, str]) -> Built:
    cables, devices = [], set()
    for path in sorted(folder.glob("*.json")):
        own = names.get(path.stem, path.stem)
        devices.add(own)
        with at(str(path)):
            for one in parse_neighbours(_text(path)):
                peer = names.get(one.device, one.device)
                here = Jack(own, port_number(one.interface))
                there = Jack(peer, port_number(one.port))
                cables.append(BuiltCable(one=here, other=there))
    if not devices:
        message = f"{folder}: has no DEVICE.json; put there what lldpctl -f json0 prints on each"
        raise SpecError(message)
    return Built(cables=tuple(cables), devices=frozenset(devices))


def parse_cable_list(text: str, names: Mapping[str, str]) -> Built:
    """Return the cables in a CSV file.

    Raises:
        SpecError: a column is missing, or a port or rate is none; the message has the line.
    """
    cables = []
    for number, row in _rows(text, COLUMNS):
        with at(f"line {number}"):
            cables.append(_listed(row, names))
    return Built(cables=tuple(cables))


def _rows(text: str, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Give the number of the line and the cells of each row; a cell that is missing is empty."""
    rows = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        if missing:
            message = f"columns are missing: {', '.join(missing)}; write {','.join(columns)} first"
            raise SpecError(message)
        for row in rows:
            yield rows.line_num, {key: cell.strip() for key, cell in row.items() if key}
    except csv.Error as error:
        message = f"line {rows.line_num}: no CSV ({error}); write comma-separated values"
        raise SpecError(message) from error


def _listed(row: Mapping[str, str], names: Mapping[str, str]) -> BuiltCable:
    a_device, b_device, rate = row["a_device"], row["b_device"], row.get("rate", "")
    return BuiltCable(
        one=Jack(names.get(a_device, a_device), port_number(row["a_port"])),
        other=Jack(names.get(b_device, b_device), port_number(row["b_port"])),
        rate_bps=parse_quantity(rate, RATE, where="rate") if rate else None,
    )


def port_number(label: str) -> int:
    """Return the number of a port by what stands beside it: ``7``, ``swp7``, ``eth0`` (1).

    Raises:
        SpecError: it is none of these.
    """
    match = _PORT.fullmatch(label.strip())
    if match is None:
        message = f"{label[:40]!r} is no port; write such as '7', 'swp7' or 'eth0'"
        raise SpecError(message)
    return int(match[1]) if match[1] is not None else int(match[2]) + 1


def parse_names(text: str) -> dict[str, str]:
    """Return our names by others', from a CSV file with the columns name and device.

    Raises:
        SpecError: it has no such columns, or a name twice.
    """
    names: dict[str, str] = {}
    with at("--names"):
        for number, row in _rows(text, ("name", "device")):
            name, device = row["name"], row["device"]
            if names.get(name, device) != device:
                message = f"line {number}: {name[:60]!r} has two devices; keep one"
                raise SpecError(message)
            names[name] = device
    return names
