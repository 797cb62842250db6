"""NetBox's CSV imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.inventory import netbox
from netloom.formats.register import Format

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _files(site: Site) -> dict[str, str]:
    return {
        "netbox/devices.csv": netbox.devices_csv(site),
        "netbox/interfaces.csv": netbox.interfaces_csv(site),
        "netbox/cables.csv": netbox.cables_csv(site),
    }


ENTRY: Final = Format(
    name="netbox",
    title="NetBox",
    family="inventory",
    holds="inventory",
    suffixes=(),
    sniff=lambda _: False,
    parse=None,
    render=_files,
)
