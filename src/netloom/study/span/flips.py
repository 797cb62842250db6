"""What would have to change for the second placement to win."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.study.span.placements import step_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.span.case import CutCase
    from netloom.study.span.placements import Numbers, Repairs, SitePlacement

__all__ = ["flip_of"]

FACTORS: Final = np.geomspace(1e-3, 1e3, 241)


def flip_of(
    case: CutCase,
    best: SitePlacement,
    rows: Sequence[SitePlacement],
    repairs: Repairs,
) -> str:
    """Return in a sentence which rate or which delay would make another placement win."""
    others = [row for row in rows if row.placement not in (best.placement, "local")]
    if not others:
        return "There is no other placement to win."
    other = min(others, key=lambda row: row.step_time_s)

    def gap(delay: Numbers, rate: Numbers) -> np.ndarray:
        times = [
            step_s(
                case,
                row.placement,
                delay,
                rate,
                repairs=repairs,
                more=row.more_in_flight,
            )
            for row in (best, other)
        ]
        return np.asarray(times[0] - times[1])

    by_rate = _nearest(gap(case.delay_s, case.rate_bps * FACTORS))
    by_delay = _nearest(gap(case.delay_s * FACTORS, case.rate_bps))
    ways = [
        f"{factor:.3g} times the {what}"
        for factor, what in ((by_rate, "bandwidth"), (by_delay, "delay"))
        if factor is not None
    ]
    if not ways:
        return f"{other.placement} wins at no bandwidth or delay within a factor of 1,000."
    return f"{other.placement} would win with {' or '.join(ways)}."


def _nearest(gaps: np.ndarray) -> float | None:
    """Return the factor nearest to 1 at which the second is faster."""
    wins = FACTORS[gaps > 1e-9]
    return float(min(wins, key=lambda one: abs(np.log(one)))) if len(wins) else None
