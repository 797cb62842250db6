"""Megatron-LM arguments in YAML."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.megatron import is_megatron_yaml, parse_megatron_yaml

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="megatron-lm-yaml",
    title="Megatron-LM arguments in YAML",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_megatron_yaml,
    parse=parse_megatron_yaml,
    render=None,
)
