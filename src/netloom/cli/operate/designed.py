"""What a command is given: a scenario file, and perhaps parts of one's own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.ops.observe.designed import Designed
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["designed_at", "inputs_at"]


@contextmanager
def inputs_at(scenario: Path, catalog: Path | None = None) -> Iterator[tuple[Scenario, Catalog]]:
    """Give a scenario and its parts; what is wrong with it inside the block is told by line."""
    # Slow to import, and the help of a command needs none of it.
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415

    with scenario_at(scenario) as read:
        yield read, catalog_of(read, catalog)


def designed_at(scenario: Path, catalog: Path | None = None) -> Designed:
    """Return the network of a scenario file as designed."""
    from netloom.app.designs import design_of  # noqa: PLC0415  (likewise)

    with inputs_at(scenario, catalog) as (read, parts):
        return design_of(read, parts)
