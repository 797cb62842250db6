"""Cumulus Linux, told in NVUE."""

from __future__ import annotations

from typing import Final

from netloom.formats.nvue.commands import nvue_text, port_name
from netloom.formats.nvue.read import read_hosts, read_routes
from netloom.ops.switch_systems import PortLabels, SwitchFile, SwitchOs

__all__ = ["ENTRY"]

ENTRY: Final = SwitchOs(
    name="cumulus",
    title="NVIDIA Cumulus Linux",
    asics=("Spectrum",),
    vendors=("NVIDIA",),
    port_name=port_name,
    labels=PortLabels(pattern=r"swp(?P<cage>\d{1,4})(?:s(?P<from_zero>\d))?"),
    files=(
        SwitchFile(
            name="nvue.sh", render=nvue_text, read_routes=read_routes, read_hosts=read_hosts
        ),
    ),
)
