"""Arista EOS."""

from __future__ import annotations

from typing import Final

from netloom.formats.eos.config import eos_text, port_name
from netloom.formats.eos.day0 import day0
from netloom.formats.eos.device import is_eos, read_device
from netloom.formats.eos.read import read_hosts, read_routes
from netloom.ops.deploy.structure import sections
from netloom.ops.switch_systems import PortLabels, SwitchFile, SwitchOs

__all__ = ["ENTRY"]

ENTRY: Final = SwitchOs(
    name="eos",
    title="Arista EOS",
    asics=("Tomahawk", "Trident", "Jericho"),
    vendors=("Arista",),
    port_name=port_name,
    labels=PortLabels(pattern=r"(?:Ethernet|Et)(?P<cage>\d{1,4})(?:/(?P<lane>\d))?"),
    files=(
        SwitchFile(
            name="eos.conf",
            render=eos_text,
            read_routes=read_routes,
            read_hosts=read_hosts,
            read_device=read_device,
            settings=sections,
            is_like=is_eos,
        ),
    ),
    day0=day0,
)
