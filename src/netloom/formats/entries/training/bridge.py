"""Megatron-Bridge recipe, YAML."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.nemo import is_bridge, parse_bridge

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="megatron-bridge",
    title="Megatron-Bridge recipe, YAML",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_bridge,
    parse=parse_bridge,
    render=None,
)
