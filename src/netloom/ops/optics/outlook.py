"""What becomes of each port: its margin, how it goes, and when it is expected to drop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.optics.margin import SIGNALS
from netloom.ops.optics.survival import DAY_S, forecast
from netloom.ops.optics.trend import best_trends, known_median, without_daily_swing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.ops.optics.margin import Signal
    from netloom.ops.optics.survival import DropForecast
    from netloom.ops.optics.trend import Trends

__all__ = ["SIGNS", "HourlyHistory", "PortOutlook", "outlooks"]

HORIZON_S: Final = 30 * DAY_S  # what drops later than this is not called
THIN_DB: Final = 0.3  # of margin: a bit error rate of 9e-5, with the limit at 2.4e-4
THIN_H: Final = 24
THIN_SURE: Final = 0.8  # that such a link is ill and not just long (assumed)
STEP_DB: Final = 0.3  # a link that comes back with another margin was touched
BASELINE_H: Final = 72
FLAP_HOURS: Final = 5  # hours of a week with a flap each; those of one hour are one event
FAILED_HOURS: Final = 4  # hours of a day with codewords that could not be put right
FAILED_COUNT: Final = 10.0
COUNTED_SURE: Final = 0.9  # assumed
LOW_SHARE: Final = 0.1  # of the hours of a day
HOT_C: Final = 70.0  # the most that a transceiver's case may have: commercial class (recalled)
HOT_H: Final = 24
HOT_SURE: Final = 0.7  # assumed

# Why a port is called, by the number that the store has for it.
SIGNS: Final = (
    *(signal.about for signal in SIGNALS),
    "flaps",
    "codewords that cannot be corrected",
    "heat",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HourlyHistory:
    """One number of many ports, hour by hour up to now.

    Attributes:
        parts: Ports or their lanes.
        values: By part and hour: means, or what a counter rose; NaN where unknown.
    """

    parts: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortOutlook:
    """What is expected of a port.

    Attributes:
        part: The port.
        sign: Number of the sign in :data:`SIGNS` that it is called by.
        margin_db: What is left; None where the sign does not tell.
        slope_db_d: Decibels a day; None likewise.
        drop: When it is expected to drop; None where only counts tell.
        confidence: Chance that the link degrades.
        span_h: Over how long it was seen.
    """

    part: str
    sign: int
    confidence: float
    margin_db: float | None = None
    slope_db_d: float | None = None
    drop: DropForecast | None = None
    span_h: float = field(default=0.0)


def outlooks(histories: Mapping[str, HourlyHistory]) -> tuple[PortOutlook, ...]:
    """Return the ports that degrade, the surest of each once, in order of ports.

    Args:
        histories: By metric, all with the same hours; ``link_downs`` and
            ``fec_uncorrectable_codewords`` as what they rose in each hour.
    """
    downs = histories.get("link_downs")
    found: dict[str, PortOutlook] = {}
    for one in (*_fading(histories, downs), *_counted(histories), *_hot(histories)):
        known = found.get(one.part)
        if known is None or _rank(one) > _rank(known):
            found[one.part] = one
    return tuple(found[part] for part in sorted(found))


def _rank(one: PortOutlook) -> tuple[float, float]:
    """Order by what drops first, then by what is surer."""
    return (-one.drop.median_s if one.drop else -HORIZON_S, one.confidence)


def _fading(
    histories: Mapping[str, HourlyHistory], downs: HourlyHistory | None
) -> Iterator[PortOutlook]:
    by_errors: dict[str, float] = {}  # absolute, so it holds for what is relative too
    for number, signal in enumerate(SIGNALS):
        history = histories.get(signal.metric)
        if history is None or not len(history.parts):
            continue
        margin_db = _margins(signal, history, downs)
        lowest = _lowest(margin_db)
        trends = best_trends(without_daily_swing(margin_db))
        for row in np.flatnonzero(trends.confidence >= 0.5).tolist():
            part = history.parts[row]
            left_db = min(float(lowest[row]), by_errors.get(port_of(part), math.inf))
            one = _called(part, number, trends, row, left_db)
            if one.drop is not None and one.drop.median_s <= HORIZON_S:
                yield one
        if not signal.is_relative:
            for part, left in zip(history.parts, lowest.tolist(), strict=True):
                if not math.isnan(left):
                    by_errors[port_of(part)] = min(left, by_errors.get(port_of(part), math.inf))
            yield from _thin(number, history.parts, margin_db)


def _lowest(margin_db: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margin at the worst hours of the last day: there it is used up first."""
    day = np.sort(margin_db[:, -24:], axis=1)
    count = np.isfinite(day).sum(axis=1)
    return np.asarray(day[np.arange(len(day)), (LOW_SHARE * count).astype(int)])


def _called(part: str, sign: int, trends: Trends, row: int, margin_db: float) -> PortOutlook:
    slope = float(trends.slope_db_d[row])
    drop = forecast(
        margin_db=margin_db,
        slope_db_d=slope,
        error_db_d=float(trends.error_db_d[row]),
        noise_db=float(trends.noise_db[row]),
    )
    return PortOutlook(
        part=port_of(part),
        sign=sign,
        margin_db=margin_db,
        slope_db_d=slope,
        drop=drop,
        confidence=float(trends.confidence[row]),
        span_h=float(trends.span_h[row]),
    )


def port_of(part: str) -> str:
    """Return the port that a lane belongs to."""
    return part.partition("/")[0]


def _margins(
    signal: Signal, history: HourlyHistory, downs: HourlyHistory | None
) -> NDArray[np.float64]:
    """Return margins by part and hour, NaN before a link was last touched."""
    margin_db = np.array(signal.margin_db(history.values), dtype=float)
    if downs is not None:
        _cut(margin_db, history.parts, downs)
    if signal.is_relative:
        margin_db += signal.budget_db - _baseline(margin_db)[:, None]
    return margin_db


def _cut(margin_db: NDArray[np.float64], parts: Sequence[str], downs: HourlyHistory) -> None:
    """Forget what was before a link went down and came back with another margin."""
    rows = {part: row for row, part in enumerate(downs.parts)}
    fell = np.nan_to_num(downs.values) > 0
    touched = np.flatnonzero(fell.any(axis=1))
    there = {downs.parts[row]: np.flatnonzero(fell[row]) for row in touched.tolist()}
    for row, part in enumerate(parts):
        port = port_of(part)
        if port not in there or port not in rows:
            continue
        for hour in there[port][::-1].tolist():
            before, after = margin_db[row, max(0, hour - 6) : hour], margin_db[row, hour + 1 :][:6]
            if _differ(before, after):
                margin_db[row, : hour + 1] = np.nan
                break


def _differ(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    if not len(before) or not len(after):
        return False
    return bool(abs(np.median(after) - np.median(before)) > STEP_DB)


def _baseline(margin_db: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of the first days that are known of each row."""
    known = np.isfinite(margin_db)
    early = known & (known.cumsum(axis=1) <= BASELINE_H)
    return known_median(np.where(early, margin_db, np.nan), axis=1)


def _thin(sign: int, parts: Sequence[str], margin_db: NDArray[np.float64]) -> Iterator[PortOutlook]:
    """Give the ports that have little margin left, at each of the last hours."""
    last = margin_db[:, -THIN_H:]
    with np.errstate(invalid="ignore"):
        thin = (last < THIN_DB).all(axis=1)
    for row in np.flatnonzero(thin).tolist():
        level = float(np.median(last[row]))
        yield PortOutlook(
            part=port_of(parts[row]),
            sign=sign,
            margin_db=level,
            slope_db_d=0.0,
            drop=forecast(margin_db=level, slope_db_d=0.0, error_db_d=0.02, noise_db=0.1),
            confidence=THIN_SURE,
            span_h=float(THIN_H),
        )


def _counted(histories: Mapping[str, HourlyHistory]) -> Iterator[PortOutlook]:
    """Give the ports that flap, or lose codewords, again and again."""
    rules = (
        ("link_downs", len(SIGNALS), 24 * 7, FLAP_HOURS, float(FLAP_HOURS)),
        ("fec_uncorrectable_codewords", len(SIGNALS) + 1, 24, FAILED_HOURS, FAILED_COUNT),
    )
    for metric, sign, span_h, least_hours, least in rules:
        history = histories.get(metric)
        if history is None:
            continue
        rises = np.nan_to_num(history.values[:, -span_h:])
        often = ((rises > 0).sum(axis=1) >= least_hours) & (rises.sum(axis=1) >= least)
        for row in np.flatnonzero(often).tolist():
            part = port_of(history.parts[row])
            yield PortOutlook(part=part, sign=sign, confidence=COUNTED_SURE, span_h=float(span_h))


def _hot(histories: Mapping[str, HourlyHistory]) -> Iterator[PortOutlook]:
    history = histories.get("optic_temperature_c")
    if history is None or history.values.shape[1] < HOT_H:
        return
    with np.errstate(invalid="ignore"):
        hot = (history.values[:, -HOT_H:] >= HOT_C).all(axis=1)
    for row in np.flatnonzero(hot).tolist():
        part = port_of(history.parts[row])
        yield PortOutlook(part=part, sign=len(SIGNS) - 1, confidence=HOT_SURE, span_h=float(HOT_H))
