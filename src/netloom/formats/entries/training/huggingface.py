"""Hugging Face config.json."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.huggingface import is_huggingface, parse_huggingface

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="huggingface",
    title="Hugging Face config.json",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_huggingface,
    parse=parse_huggingface,
    render=None,
)
