"""Cumulus Linux, told in NVUE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.nvue.commands import nvue_text, port_name
from netloom.formats.nvue.day0 import day0
from netloom.formats.nvue.device import read_device
from netloom.formats.nvue.document import nvue_document
from netloom.formats.nvue.read import read_hosts, read_routes
from netloom.formats.nvue.tree import is_nvue, paths
from netloom.ops.switch_systems import PortLabels, SwitchFile, SwitchOs

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

__all__ = ["ENTRY"]


def _document(intent: Intent, number: int) -> str:
    return nvue_document(nvue_text(intent, number))


ENTRY: Final = SwitchOs(
    name="cumulus",
    title="NVIDIA Cumulus Linux",
    asics=("Spectrum",),
    vendors=("NVIDIA",),
    port_name=port_name,
    labels=PortLabels(pattern=r"swp(?P<cage>\d{1,4})(?:s(?P<from_zero>\d))?"),
    files=(
        SwitchFile(
            name="nvue.sh",
            render=nvue_text,
            read_routes=read_routes,
            read_hosts=read_hosts,
            read_device=read_device,
            settings=paths,
            is_like=is_nvue,
        ),
        SwitchFile(name="nvue.yaml", render=_document, settings=paths),
    ),
    day0=day0,
)
