"""What sockperf prints."""

from __future__ import annotations

from typing import Final

from netloom.formats.benchmarks.sockperf import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="sockperf",
    title="what sockperf prints",
    family="benchmarks",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "sockperf:" in head,
    parse=parse,
    render=None,
)
