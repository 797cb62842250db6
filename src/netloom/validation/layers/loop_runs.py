"""How often a table's calls were repeated before the one that was timed.

That, and how warm the GPU was, decides its clock, and no table says it. One row in five tells it,
as the number of calls of a GPU at rest that comes nearest; those rows are not judged.
"""

from __future__ import annotations

import math
from statistics import mean
from typing import TYPE_CHECKING, Final

from netloom.compute.kernels import LOOP_RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.compute.calls import Paces

__all__ = ["SHIPPED", "loop_runs"]

# Tables of fewer rows are taken as the shipped table of their kind, and all rows are judged.
_MIN_ROWS: Final = 20
SHIPPED: Final = {  # a test tells them again
    "gpt_layer_shard": 13.0,
    "llama_layer_shard": 5.0,
    "moe_block": 50.0,
    "dit_block": 4.0,
}
_TOLD_BY: Final = 5
_TRIED: Final = (3.0, 4.0, 5.0, LOOP_RUNS, 8.0, 10.0, 13.0, 16.0, 20.0, 30.0, 50.0, 100.0)


def loop_runs(kind: str, timed: Sequence[tuple[int, float, Paces]]) -> tuple[float, frozenset[int]]:
    """Return how often the calls of one table were repeated, and the rows that told it.

    Args:
        kind: Of the table.
        timed: The row's number, the time measured in seconds and what it can be.
    """
    numbers = sorted({number for number, _, _ in timed})
    if len(numbers) < _MIN_ROWS:
        return SHIPPED.get(kind, LOOP_RUNS), frozenset()
    told = frozenset(numbers[_TOLD_BY // 2 :: _TOLD_BY])
    telling = [(measured_s, found) for number, measured_s, found in timed if number in told]

    def off(runs: float) -> float:
        return mean(
            abs(math.log(found.after(runs).duration_s / measured_s))
            for measured_s, found in telling
        )

    return min(_TRIED, key=off), told
