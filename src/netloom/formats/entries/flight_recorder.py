"""Dumps of PyTorch's flight recorder."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.traces.flight_recorder import parse_dump

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="flight-recorder",
    title="PyTorch's flight recorder",
    family="traces",
    holds="job",
    suffixes=(),
    sniff=lambda _: False,
    parse=parse_dump,
    render=None,
)
