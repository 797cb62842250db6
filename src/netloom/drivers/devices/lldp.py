"""Neighbours by lldpd, asked with ``lldpcli``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.drivers.devices.shell import HostShell
from netloom.formats.inventory.lldp import parse_neighbours
from netloom.ops.observe.devices import DeviceReport, SeenNeighbour

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["look"]


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a host's or switch's ports see.

    Its address is ``local``, the path of lldpd's socket here, or ``ssh://HOST``.

    Raises:
        LabError: lldpd does not answer in time.
    """
    socket = ["-u", access.address] if access.address.startswith("/") else []
    place = replace(access, address="local") if socket else access
    text = HostShell(place).run(["lldpcli", *socket, "-f", "json0", "show", "neighbors"])
    rows = parse_neighbours(text)
    return DeviceReport(
        neighbours=[SeenNeighbour(one.interface, one.device, one.port) for one in rows]
    )
