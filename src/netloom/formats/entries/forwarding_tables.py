"""Forwarding tables: OpenSM's opensm-lfts.dump, or what dump_lfts prints."""

from __future__ import annotations

from typing import Final

from netloom.formats.infiniband.forwarding import parse_routes
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="forwarding-tables",
    title="a dump of forwarding tables",
    family="infiniband",
    holds="routes",
    suffixes=(),
    sniff=lambda head: "Unicast lids" in head,
    parse=parse_routes,
    render=None,
)
