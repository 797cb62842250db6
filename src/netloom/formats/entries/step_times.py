"""Step times that a job writes."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.traces.step_times import parse_step_times

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="step-times",
    title="step times, JSON lines or CSV",
    family="traces",
    holds="job",
    suffixes=(),
    sniff=lambda head: "step_s" in head,
    parse=parse_step_times,
    render=None,
)
