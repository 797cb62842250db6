"""The scenario a command works on."""

from __future__ import annotations

from pathlib import Path

from netloom.spec.example import example
from netloom.spec.load import load
from netloom.spec.scenario import Scenario

__all__ = ["scenario_or_example"]


def scenario_or_example(path: Path | None) -> Scenario:
    """Return the scenario in the file at *path*, or the built-in example when none is given."""
    return example() if path is None else load(path)
