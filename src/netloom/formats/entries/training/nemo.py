"""NeMo recipe, YAML."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.nemo import is_nemo, parse_nemo

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="nemo",
    title="NeMo recipe, YAML",
    family="training",
    holds="recipe",
    suffixes=(),
    sniff=is_nemo,
    parse=parse_nemo,
    render=None,
)
