"""The cables of an InfiniBand network, from what infiniband-diags print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.formats.infiniband.diags import parse_links, parse_ports, parse_topology
from netloom.ops.observe.compare import Built, BuiltCable
from netloom.ops.observe.identity import ScannedPort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.formats.infiniband.diags import LinkRow
    from netloom.ops.observe.naming import Naming

__all__ = [
    "built_of_links",
    "nominal_bps",
    "parse_linkinfo",
    "parse_netdiscover",
    "parse_port_list",
    "rate_of_name",
    "scanned_ports",
]

# Nominal rate of a lane by its signalling rate, both in Gbit/s: IBTA's speeds SDR to XDR.
LANES: Final = {
    2.5: 2.5,
    5.0: 5.0,
    10.0: 10.0,
    10.3125: 10.0,
    14.0625: 14.0,
    25.78125: 25.0,
    53.125: 50.0,
    106.25: 100.0,
    212.5: 200.0,
}
WIDTHS: Final = {"1X": 1, "2X": 2, "4X": 4, "8X": 8, "12X": 12}
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


def nominal_bps(width: str, lane_gbps: float | None) -> float | None:
    """Return what a link carries by the name of its speed; None where that is not known."""
    if lane_gbps is None or width.upper() not in WIDTHS or lane_gbps not in LANES:
        return None
    return WIDTHS[width.upper()] * LANES[lane_gbps] * 1e9


def rate_of_name(name: str) -> float | None:
    """Return the nominal rate of a link called such as ``4xHDR``; None where it is not known."""
    match = _RATE.fullmatch(name.strip())
    if match is None or match[2] not in LANES_GBPS:
        return None
    return int(match[1]) * LANES_GBPS[match[2]] * 1e9


def built_of_links(rows: Iterable[LinkRow], naming: Naming) -> Built:
    """Return the cables among the ports that ``iblinkinfo`` saw, devices by our names."""
    rows = tuple(rows)
    cables = tuple(
        BuiltCable(
            one=naming.jack(row.name, row.port),
            other=naming.jack(row.peer_name, row.peer_port),
            rate_bps=nominal_bps(row.width, row.lane_gbps),
        )
        for row in rows
        if row.peer_port is not None and row.state != "Down"
    )
    return Built(cables=cables, devices=frozenset(naming.device(r.name) for r in rows))


def scanned_ports(rows: Iterable[LinkRow], naming: Naming) -> tuple[ScannedPort, ...]:
    """Return the ports of a scan with their devices' LIDs and what each leads to."""
    return tuple(
        ScannedPort(
            jack=naming.jack(row.name, row.port),
            lid=row.lid,
            is_up=row.state == "Active",
            peer=None if row.peer_port is None else naming.jack(row.peer_name, row.peer_port),
        )
        for row in rows
    )


def parse_linkinfo(text: str, naming: Naming) -> Built:
    """Return the cables in what ``iblinkinfo -l`` printed.

    Raises:
        LabError: it did not.
    """
    return built_of_links(parse_links(text), naming)


def parse_port_list(text: str, naming: Naming) -> Built:
    """Return the cables in what ``ibnetdiscover -p`` printed.

    Raises:
        LabError: it did not.
    """
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


def parse_netdiscover(text: str, naming: Naming) -> Built:
    """Return the cables in what ``ibnetdiscover`` printed.

    Raises:
        LabError: it did not.
    """
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
