"""Starts of transfers, drawn with the seed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import SpecError
from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from netloom.study.simulate.run import SimulationCase
    from netloom.workload.transfers import Transfers

__all__ = ["jittered"]


def jittered(case: SimulationCase, within_s: float) -> SimulationCase:
    """Return *case* with every transfer that waits for none begun later, by a draw of the seed.

    Half a microsecond may decide which of two outcomes a disturbed run has: without it, seeds that
    draw marks alone agree too well.

    Args:
        case: No step, whose computations set the phases.
        within_s: Of the latest; equal draws are equally likely.

    Raises:
        SpecError: the time is none.
    """
    if not 0 <= within_s <= 1:
        raise SpecError(key="jitter", what=f"{within_s:g} s", remedy="give 0 to 1 s, such as 2us")
    traffic = case.traffic

    @lru_cache(maxsize=1)
    def drawn(seed: int) -> Transfers:
        found = traffic(seed)
        later = np.random.default_rng((seed, len(found))).random(len(found)) * within_s * 1e12
        begins = np.diff(found.wait_offsets) == 0
        start_ps = found.start_ps + np.where(begins, later, 0.0).astype(np.int64)
        return replace(found, start_ps=start_ps)

    note = f"starts are drawn within {format_quantity(within_s, TIME)}, with the seed"
    return replace(case, traffic=drawn, notes=(*case.notes, note))
