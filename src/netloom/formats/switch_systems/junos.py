"""Junos: names of ports alone; netloom writes nothing for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.switch_systems import PortLabels, SwitchOs

if TYPE_CHECKING:
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _port_name(site: Site, port: Port) -> str:
    cage = site.cage(port)
    split = f":{cage.slot}" if cage.num_slots > 1 else ""
    return f"et-0/0/{cage.number - 1}{split}"


ENTRY: Final = SwitchOs(
    name="junos",
    title="Juniper Junos",
    asics=("Tomahawk", "Trident", "Express"),
    vendors=("Juniper",),
    port_name=_port_name,
    labels=PortLabels(pattern=r"(?:et|xe|ge)-0/0/(?P<zero>\d{1,4})(?::(?P<from_zero>\d))?"),
    files=(),
)
