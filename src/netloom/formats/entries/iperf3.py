"""What iperf3 prints, or writes with -J."""

from __future__ import annotations

from typing import Final

from netloom.formats.benchmarks.iperf3 import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="iperf3",
    title="what iperf3 prints",
    family="benchmarks",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "bits/sec" in head or "bits_per_second" in head,
    parse=parse,
    render=None,
)
