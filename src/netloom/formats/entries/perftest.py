"""What programs of perftest print."""

from __future__ import annotations

from typing import Final

from netloom.formats.benchmarks.perftest import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="perftest",
    title="what perftest prints",
    family="benchmarks",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "#bytes" in head and "iterations" in head,
    parse=parse,
    render=None,
)
