"""Print the ratchet of the collectives suite: what is achieved where a goal is not met.

python tools/collectives_ratchet.py   (paste into validation/collectives/cells.py)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netloom.parts.load import load_catalog
from netloom.validation.collectives import cells
from netloom.validation.collectives.suite import validate_shipped

if TYPE_CHECKING:
    from netloom.validation.collectives.cells import TableCell

_NAMES = ("ONE_NODE", "FEW_RING", "FEW_OTHER", "MANY")


def main() -> None:
    """Print one line for each cell that is held and misses its goal."""
    for cell in validate_shipped(load_catalog()).cells:
        if cell.held and not cell.goal_ok:
            print(_line(cell))


def _line(cell: TableCell) -> str:
    goal = cell.goal_pct
    figures = (
        max(goal, _up(cell.median_abs_error_pct)),
        max(goal / 2, _up(abs(cell.bias_pct))),
        max(3 * goal, _up(cell.p90_abs_error_pct)),
    )
    name = next(name for name in _NAMES if getattr(cells, name) == cell.group)
    return f'    ({name}, "{cell.band}"): _achieved({figures[0]}, {figures[1]}, {figures[2]}),'


def _up(value: float) -> float:
    """Return *value* rounded up to a tenth, so that it is within its own bound."""
    return math.ceil(10 * value) / 10


if __name__ == "__main__":
    main()
