"""The network of the scenario file that a command is given, with errors told by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.designs import design_of
from netloom.cli.scenario import scenario_at
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.ops.observe.designed import Designed

__all__ = ["designed_at"]


def designed_at(scenario: Path, catalog: Path | None = None) -> Designed:
    """Return the network of a scenario file as designed."""
    with scenario_at(scenario) as read:
        return design_of(read, catalog_of(read, catalog))
