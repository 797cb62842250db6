"""Models whose layers differ: attention, windows, states passed along the sequence."""

from __future__ import annotations
