"""GUIDs of a real InfiniBand fabric, matched to the plant by the names that devices carry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.infiniband.diags import parse_ports

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.formats.infiniband.diags import PortRow
    from netloom.ops.site import Site

__all__ = ["guids_from"]

# What drivers write into an adapter's description: "n0000 mlx5_3"; older ones "n0000 HCA-4".
_ADAPTER: Final = re.compile(r"(\S{1,80}) (?:mlx5_(\d{1,3})|HCA-(\d{1,3}))", re.ASCII)
MAX_NAMED: Final = 5


def guids_from(text: str, site: Site, *, where: str) -> Callable[[int], int]:
    """Return the port GUID of each device of the plant, from what ``ibnetdiscover -p`` printed.

    Args:
        text: What it printed, with the switches' names (``--node-name-map``) as the cabling list
            has them.
        site: Whose devices they are.
        where: Name of the file.

    Raises:
        SpecError: devices of the plant are not in it; the message names some.
    """
    known = {name: row.guid for row in parse_ports(text) for name in _names(row)}
    names = [_wanted(site, number) for number in range(len(site.plant.devices))]
    missing = [name for name in names if name not in known]
    if missing:
        some = ", ".join(missing[:MAX_NAMED])
        raise SpecError(
            what=(
                f"{where}: {len(missing):,} of {len(names):,} devices are not in it, such as {some}"
            ),
            remedy="name hosts and switches as cabling/point-to-point.csv does",
        )
    guids = [known[name] for name in names]
    return guids.__getitem__


def _wanted(site: Site, number: int) -> str:
    name = site.hostnames[number]
    return f"{name} {site.interface(number)}" if number < len(site.nics) else name


def _names(row: PortRow) -> tuple[str, ...]:
    adapter = _ADAPTER.fullmatch(row.name)
    if row.kind != "CA" or adapter is None:
        return (row.name,)
    index = int(adapter[2]) if adapter[2] else int(adapter[3]) - 1
    return (f"{adapter[1]} mlx5_{index}",)
