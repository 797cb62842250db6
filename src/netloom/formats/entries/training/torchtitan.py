"""torchtitan configuration, TOML."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.training.torchtitan import is_torchtitan, parse_torchtitan

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="torchtitan",
    title="torchtitan configuration, TOML",
    family="training",
    holds="recipe",
    suffixes=(".toml",),
    sniff=is_torchtitan,
    parse=parse_torchtitan,
    render=None,
)
