"""What OSU micro-benchmarks print."""

from __future__ import annotations

from typing import Final

from netloom.formats.benchmarks.osu import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="osu",
    title="what OSU micro-benchmarks print",
    family="benchmarks",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "OSU " in head and " Test" in head,
    parse=parse,
    render=None,
)
