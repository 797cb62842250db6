"""Cisco NX-OS: names of ports alone; netloom writes nothing for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.switch_systems import PortLabels, SwitchOs

if TYPE_CHECKING:
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _port_name(site: Site, port: Port) -> str:
    return f"Ethernet{site.cage(port).label}"


ENTRY: Final = SwitchOs(
    name="nxos",
    title="Cisco NX-OS",
    asics=("Silicon One", "Tomahawk", "Cloud Scale"),
    vendors=("Cisco",),
    port_name=_port_name,
    labels=PortLabels(pattern=r"(?:Ethernet|Eth)1/(?P<cage>\d{1,4})(?:/(?P<way>\d))?"),
    files=(),
)
