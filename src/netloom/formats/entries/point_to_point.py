"""A list of cables for those who lay them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.inventory.cabling import point_to_point_csv
from netloom.formats.register import Format

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _files(site: Site) -> dict[str, str]:
    return {"cabling/point-to-point.csv": point_to_point_csv(site)}


ENTRY: Final = Format(
    name="point-to-point",
    title="a point-to-point list",
    family="inventory",
    holds="inventory",
    suffixes=(),
    sniff=lambda _: False,
    parse=None,
    render=_files,
)
