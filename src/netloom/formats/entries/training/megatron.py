"""Megatron-LM arguments or shell script."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.megatron import is_megatron, parse_megatron

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="megatron-lm",
    title="Megatron-LM arguments or shell script",
    family="training",
    holds="recipe",
    suffixes=(".sh", ".sbatch", ".slurm"),
    sniff=is_megatron,
    parse=parse_megatron,
    render=None,
)
