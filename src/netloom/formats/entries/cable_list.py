"""A list of cables."""

from __future__ import annotations

from typing import Final

from netloom.formats.inventory.cable_list import COLUMNS, parse_cable_list
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="cable-list",
    title="a CSV file with the columns a_device, a_port, b_device, b_port",
    family="inventory",
    holds="cables",
    suffixes=(),
    sniff=lambda head: COLUMNS[0] in (head.strip().splitlines() or [""])[0],
    parse=parse_cable_list,
    render=None,
)
