"""Published completion times beside simulated ones, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.validation.fct.cases import FctCase
    from netloom.validation.fct.hpcc import Finished

__all__ = [
    "TOLERANCES_PCT",
    "CurveKey",
    "FctCurve",
    "FctPoint",
    "FctRow",
    "case_row",
    "curve_of",
    "curve_rows",
    "curves_of",
    "pairs_in_order",
]

# By percentile of completion times: what each tenth of flows by size is held to.
TOLERANCES_PCT: Final[Mapping[int, float]] = {50: 10.0, 95: 15.0}
_MIN_FLOWS: Final = {50: 50, 95: 100}  # fewer say little about the percentile
_TENTHS: Final = range(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class FctPoint:
    """One point of a published curve; percentiles from 1 to 100."""

    workload: str
    load_pct: int
    fct_percentile: int
    scheme: str
    size_percentile: int
    slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FctRow:
    """One published number, and the same of a run.

    Attributes:
        unit: Of both; slowdown for curves.
        error_pct: Simulated over published, less 1; where the published number is the most or the
            least, only what is beyond it.
        tolerance_pct: What is aimed at.
        bound_pct: What it is held to.
        within: Whether it keeps the tolerance.
        counted: Whether the percentile is one that is judged.
        inside: Whether the run had flows enough to say.
        reason: Why not; empty inside.
    """

    row_id: str
    group: str
    unit: str
    measured: float
    predicted: float | None
    error_pct: float | None
    tolerance_pct: float
    bound_pct: float
    within: bool
    counted: bool
    inside: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FctCurve:
    """A published curve and the simulated one, by percent of flows by size; None where unknown."""

    workload: str
    load_pct: int
    fct_percentile: int
    scheme: str
    published: tuple[float | None, ...]
    simulated: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CurveKey:
    """What one published curve is of."""

    workload: str
    load_pct: int
    fct_percentile: int
    scheme: str

    @property
    def name(self) -> str:
        """The curve in a few words."""
        return f"{self.workload} {self.load_pct} % p{self.fct_percentile} {self.scheme}"


def curves_of(points: Sequence[FctPoint]) -> dict[CurveKey, dict[int, float]]:
    """Return the slowdown by percentile of size, curve by curve; of several points the mean."""

    def key(point: FctPoint) -> CurveKey:
        return CurveKey(
            workload=point.workload,
            load_pct=point.load_pct,
            fct_percentile=point.fct_percentile,
            scheme=point.scheme,
        )

    curves: dict[CurveKey, dict[int, list[float]]] = {}
    for point in sorted(points, key=key):
        curve = curves.setdefault(key(point), {})
        curve.setdefault(point.size_percentile, []).append(point.slowdown)
    return {
        name: {percentile: fmean(some) for percentile, some in curve.items()}
        for name, curve in curves.items()
    }


def curve_rows(key: CurveKey, published: Mapping[int, float], run: Finished) -> Iterator[FctRow]:
    """Yield a row for each tenth of flows by size that the curve has points in.

    Each flow's slowdown is divided by the published curve at its size. Were the two alike, a share
    of p percent of these ratios would lie under 1, whatever the curve does within the tenth: their
    p-th percentile is the error.
    """
    at = np.array(sorted(published))
    slowdown = np.array([published[percentile] for percentile in at.tolist()])
    ratio = run.slowdown / np.interp(run.percentile, at - 0.5, slowdown)
    for tenth in _TENTHS:
        known = slowdown[(at > 10 * tenth) & (at <= 10 * tenth + 10)]
        if len(known):
            some = np.sort(ratio[run.percentile // 10 == tenth])
            yield _tenth_row(key, tenth, float(known.mean()), some)


def _tenth_row(key: CurveKey, tenth: int, published: float, ratio: NDArray[np.float64]) -> FctRow:
    percentile = key.fct_percentile
    found = float(ratio[len(ratio) * percentile // 100]) if len(ratio) else np.inf
    enough = len(ratio) >= _MIN_FLOWS.get(percentile, 0) and np.isfinite(found)
    error_pct = 100 * (found - 1) if np.isfinite(found) else None
    tolerance_pct = TOLERANCES_PCT.get(percentile, 0.0)
    few = f"Only {len(ratio)} flows of this size could be seen to end."
    return FctRow(
        row_id=f"{key.name} sizes {10 * tenth} to {10 * tenth + 10} %",
        group=key.name,
        unit="slowdown",
        measured=published,
        predicted=None if error_pct is None else published * found,
        error_pct=error_pct,
        tolerance_pct=tolerance_pct,
        bound_pct=tolerance_pct,
        within=enough and error_pct is not None and abs(error_pct) <= tolerance_pct,
        counted=percentile in TOLERANCES_PCT,
        inside=bool(enough),
        reason="" if enough else few,
    )


def case_row(case: FctCase, number: float) -> FctRow:
    """Return a case's row."""
    error_pct = 100 * (number / case.published - 1)
    if case.compare == "most":
        error_pct = max(error_pct, 0.0)
    elif case.compare == "least":
        error_pct = min(error_pct, 0.0)
    said = {"near": "", "most": "The published number is the most.", "least": "It is the least."}
    return FctRow(
        row_id=case.case,
        group=f"{case.fabric} {case.pattern}",
        unit=case.unit,
        measured=case.published,
        predicted=number,
        error_pct=error_pct,
        tolerance_pct=case.tolerance_pct,
        bound_pct=case.bound_pct,
        within=abs(error_pct) <= case.tolerance_pct,
        counted=True,
        inside=True,
        reason=said[case.compare],
    )


def curve_of(key: CurveKey, published: Mapping[int, float], run: Finished) -> FctCurve:
    """Return both curves, percent by percent, as the authors' fct_analysis.py bins flows."""
    simulated = run.curve(key.fct_percentile / 100).tolist()
    return FctCurve(
        workload=key.workload,
        load_pct=key.load_pct,
        fct_percentile=key.fct_percentile,
        scheme=key.scheme,
        published=tuple(published.get(percentile) for percentile in range(1, 101)),
        simulated=tuple(value if np.isfinite(value) else None for value in simulated),
    )


def pairs_in_order(rows: Sequence[FctRow]) -> list[bool]:
    """Return, for each pair of schemes that publication tells apart, whether the runs agree.

    *rows* are of one workload, load, percentile and tenth. Two schemes are told apart if they
    differ by more than the tolerance.
    """
    known = [row for row in rows if row.inside and row.counted]
    return [
        (one.measured < other.measured) == ((one.predicted or 0) < (other.predicted or 0))
        for one, other in combinations(known, 2)
        if abs(one.measured / other.measured - 1) * 100 > one.tolerance_pct
    ]
