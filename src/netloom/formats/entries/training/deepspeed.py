"""DeepSpeed configuration, JSON."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.deepspeed import is_deepspeed, parse_deepspeed

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="deepspeed",
    title="DeepSpeed configuration, JSON",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_deepspeed,
    parse=parse_deepspeed,
    render=None,
)
