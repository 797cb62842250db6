"""Chakra execution traces."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.traces.chakra import parse, render

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="chakra",
    title="Chakra execution traces",
    family="traces",
    holds="trace",
    suffixes=(".et", ".et.gz"),
    sniff=lambda _: False,
    parse=parse,
    render=render,
)
