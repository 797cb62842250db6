"""NVIDIA's Quantum switches: names of ports alone; their subnet manager is told, not they."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.switch_systems import PortLabels, SwitchOs

if TYPE_CHECKING:
    from netloom.ops.plant import Port
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _port_name(site: Site, port: Port) -> str:
    cage = site.cage(port)
    return f"{cage.number}/{cage.slot + 1}"


ENTRY: Final = SwitchOs(
    name="quantum",
    title="NVIDIA Quantum",
    asics=("Quantum", "Switch-IB"),
    vendors=("NVIDIA",),
    port_name=_port_name,
    labels=PortLabels(pattern=r"(?:IB|ib)?\s?(?:1/)?(?P<cage>\d{1,4})/(?P<way>\d)", default_ways=2),
    files=(),
)
