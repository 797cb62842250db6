"""A network as built, from files: ibnetdiscover, LLDP of every device, or a list of cables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.app.watch.infiniband import built_of_links
from netloom.errors import LabError, SpecError, at
from netloom.formats.infiniband.diags import parse_links, parse_ports, parse_topology
from netloom.formats.inventory.lldp import parse_neighbours
from netloom.ops.observe.compare import Built, BuiltCable
from netloom.ops.observe.naming import rows_of
from netloom.units import RATE, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.ops.observe.naming import Naming

__all__ = ["built_from", "parse_cable_list", "rate_of_name"]

MAX_BYTES: Final = 256 * 2**20
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

_RATE: Final = re.compile(r"(\d{1,2})x\s?([A-Z]{3}(?:10)?)", re.ASCII)


def built_from(path: Path, naming: Naming) -> Built:
    """Return the cables that a file or a folder tells of.

    Args:
        path: What ``ibnetdiscover`` (also with ``-p``) or ``iblinkinfo -l`` printed, a CSV file
            with the columns a_device, a_port, b_device, b_port and perhaps rate, or a folder
            with what ``lldpctl -f json0`` printed on each device in ``DEVICE.json``.
        naming: What its devices and ports are called.

    Raises:
        SpecError: it is none of these.
    """
    if path.is_dir():
        return _built_of_lldp(path, naming)
    text = _text(path)
    with at(str(path)):
        head = next((line for line in text.splitlines() if line.strip()), "")
        if "a_device" in head:
            return parse_cable_list(text, naming)
        try:
            return _built_of_diags(text, naming)
        except LabError as error:
            message = (
                "it is not what ibnetdiscover or iblinkinfo -l prints, nor a CSV file with the "
                f"columns {', '.join(COLUMNS)}"
            )
            raise SpecError(message) from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); name another file"
        raise SpecError(message) from error


def _built_of_diags(text: str, naming: Naming) -> Built:
    if "switchguid=" in text or "caguid=" in text:
        return _built_of_nodes(text, naming)
    if "==(" in text:
        return built_of_links(parse_links(text), naming)
    rows = parse_ports(text)
    cables = tuple(
        BuiltCable(
            one=naming.jack(row.name, row.port),
            other=naming.jack(row.peer_name, row.peer_port),
            rate_bps=rate_of_name(f"{row.width}{row.speed}"),
        )
        for row in rows
        if row.peer_name is not None and row.peer_port is not None
    )
    return Built(cables=cables, devices=frozenset(naming.device(r.name) for r in rows))


def _built_of_nodes(text: str, naming: Naming) -> Built:
    nodes = parse_topology(text)
    cables = tuple(
        BuiltCable(
            one=naming.jack(node.name, port.port),
            other=naming.jack(port.peer_name, port.peer_port),
            rate_bps=rate_of_name(port.rate),
        )
        for node in nodes
        for port in node.ports
    )
    return Built(cables=cables, devices=frozenset(naming.device(n.name) for n in nodes))


def rate_of_name(name: str) -> float | None:
    """Return the nominal rate of a link called such as ``4xHDR``; None where it is not known."""
    match = _RATE.fullmatch(name.strip())
    if match is None or match[2] not in LANES_GBPS:
        return None
    return int(match[1]) * LANES_GBPS[match[2]] * 1e9


def _built_of_lldp(folder: Path, naming: Naming) -> Built:
    cables, devices = [], set()
    for path in sorted(folder.glob("*.json")):
        devices.add(naming.device(path.stem))
        with at(str(path)):
            for one in parse_neighbours(_text(path)):
                here = naming.jack(path.stem, one.interface)
                there = naming.jack(one.device, one.port)
                cables.append(BuiltCable(one=here, other=there))
    if not devices:
        message = f"{folder}: has no DEVICE.json; put there what lldpctl -f json0 prints on each"
        raise SpecError(message)
    return Built(cables=tuple(cables), devices=frozenset(devices))


def parse_cable_list(text: str, naming: Naming) -> Built:
    """Return the cables in a CSV file.

    Raises:
        SpecError: a column is missing, or a port or rate is none; the message has the line.
    """
    cables = []
    for number, row in rows_of(text, COLUMNS):
        with at(f"line {number}"):
            cables.append(_listed(row, naming))
    return Built(cables=tuple(cables))


def _listed(row: Mapping[str, str], naming: Naming) -> BuiltCable:
    rate = row.get("rate", "")
    return BuiltCable(
        one=naming.jack(row["a_device"], row["a_port"]),
        other=naming.jack(row["b_device"], row["b_port"]),
        rate_bps=parse_quantity(rate, RATE, where="rate") if rate else None,
    )
