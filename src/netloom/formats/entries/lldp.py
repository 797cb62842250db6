"""What lldpctl -f json0 prints on one device."""

from __future__ import annotations

from typing import Final

from netloom.formats.inventory.lldp import parse_neighbours
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="lldp",
    title="what lldpctl -f json0 prints",
    family="inventory",
    holds="neighbours",
    suffixes=(".json",),
    sniff=lambda head: '"lldp"' in head,
    parse=parse_neighbours,
    render=None,
)
