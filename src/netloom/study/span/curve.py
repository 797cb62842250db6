"""Efficiency and bandwidth needed over distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.study.span.placements import more_in_flight, step_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.study.span.case import CutCase
    from netloom.study.span.placements import PlacementKind, Repairs

__all__ = ["LOSS_GOAL", "LengthPoint", "NeededRate", "curve", "distances_m", "needed_rates"]

LOSS_GOAL: Final = 0.05
FROM_M: Final = 1e3
TO_M: Final = 5_000e3
LEAST_BPS: Final = 1e6
MOST_BPS: Final = 1e16


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthPoint:
    """The efficiency of a placement if the spans were *length_m* long.

    Attributes:
        follows_delay: Whether as many micro-batches are in flight as hide the delay.
    """

    length_m: float
    placement: PlacementKind
    follows_delay: bool
    efficiency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededRate:
    """The payload rate at which a placement loses 5 %; None where no rate is enough."""

    length_m: float
    placement: PlacementKind
    rate_bps: float | None


def distances_m(num: int = 100) -> NDArray[np.float64]:
    """Return *num* lengths from 1 to 5,000 km, evenly on a logarithmic axis."""
    return np.geomspace(FROM_M, TO_M, num)


def curve(
    case: CutCase,
    span: BuiltSpan,
    kinds: Sequence[tuple[PlacementKind, bool]],
    repairs: Repairs,
    lengths_m: NDArray[np.float64],
) -> tuple[LengthPoint, ...]:
    """Return the efficiency of each placement at each length, all else as in the scenario.

    The Boolean of each of *kinds* says whether micro-batches in flight follow the delay.
    """
    delays_s = np.array([span.one_way_s(length_m) for length_m in lengths_m])
    points = []
    for kind, ahead in kinds:
        times = _times(case, kind, delays_s, case.rate_bps, repairs, ahead=ahead)
        points += [
            LengthPoint(
                length_m=float(length_m),
                placement=kind,
                follows_delay=ahead,
                efficiency=float(case.one_site_s / time_s),
            )
            for length_m, time_s in zip(lengths_m, times, strict=True)
        ]
    return tuple(points)


def _times(
    case: CutCase,
    kind: PlacementKind,
    delays_s: NDArray[np.float64],
    rate_bps: float | NDArray[np.float64],
    repairs: Repairs,
    *,
    ahead: bool,
) -> NDArray[np.float64]:
    """Return step times; delays that take as many micro-batches in flight are run together."""
    shape = np.broadcast_shapes(delays_s.shape, np.shape(rate_bps))
    delays, rates = np.broadcast_to(delays_s, shape), np.broadcast_to(rate_bps, shape)
    if kind in ("data", "local") or not ahead:
        return np.broadcast_to(step_s(case, kind, delays, rates, repairs=repairs), shape)
    counts = np.array([_rounded(more_in_flight(case, float(one))) for one in delays.ravel()])
    counts = counts.reshape(shape)
    times = np.empty(shape)
    for count in np.unique(counts):
        at = counts == count
        more = min(int(count), more_in_flight(case, float("inf")) if count else 0)
        times[at] = step_s(case, kind, delays[at], rates[at], repairs=repairs, more=more)
    return times


def _rounded(count: int) -> int:
    """Return the next power of two, so that few schedules cover all distances."""
    return 0 if count == 0 else 1 << (count - 1).bit_length()


def needed_rates(
    case: CutCase,
    span: BuiltSpan,
    kind: PlacementKind,
    repairs: Repairs,
    lengths_m: NDArray[np.float64],
) -> tuple[NeededRate, ...]:
    """Return the rate that loses 5 % at each length, by bisection on a logarithmic axis."""
    delays_s = np.array([span.one_way_s(length_m) for length_m in lengths_m])
    limit_s = case.one_site_s / (1 - LOSS_GOAL)
    low = np.full(len(lengths_m), np.log(LEAST_BPS))
    high = np.full(len(lengths_m), np.log(MOST_BPS))
    ahead = kind in ("pipeline", "both")
    enough = _times(case, kind, delays_s, np.exp(high), repairs, ahead=ahead) <= limit_s
    for _ in range(24):
        middle = (low + high) / 2
        holds = _times(case, kind, delays_s, np.exp(middle), repairs, ahead=ahead) <= limit_s
        high, low = np.where(holds, middle, high), np.where(holds, low, middle)
    return tuple(
        NeededRate(
            length_m=float(length_m), placement=kind, rate_bps=float(np.exp(rate)) if ok else None
        )
        for length_m, rate, ok in zip(lengths_m, high, enough, strict=True)
    )
