"""Hugging Face adapter_config.json."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.peft import is_peft, parse_peft

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="huggingface-peft",
    title="Hugging Face adapter_config.json",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_peft,
    parse=parse_peft,
    render=None,
)
