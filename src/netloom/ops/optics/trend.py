"""Whether a margin falls: robust slopes over half a day to 24 days, many links at a time.

A trend counts where it is steady: daily swings of temperature are taken out, what comes in one
step is none (a connector was plugged again), and slow wandering of healthy optics is allowed for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Trends", "best_trends", "known_median", "without_daily_swing"]

HOURS: Final = 24 * 28  # of history that are looked at
NUM_BLOCKS: Final = 12
BLOCKS_H: Final = (1, 4, 12, 48)  # length of a block; a trend is over twelve
MIN_DAYS_OF_SWING: Final = 3
MIN_NOISE_DB: Final = 0.03  # of a block: readings are rounded to 0.1 dB or less
WANDER_DB: Final = 0.18  # by which healthy optics move over any time (assumed)
# By how much a margin falls at least over each of these times: the weather of single days is in
# the shorter ones (assumed).
MIN_FALLS_DB: Final = {1: 1.2, 4: 1.0, 12: 0.9, 48: 0.9}
# By how much it is then below the lowest that was before, where that is known.
BELOW_DB: Final = 0.4
ALONE_DB: Final = 1.1  # where it is not, by how much it falls at least, in blocks of
ALONE_H: Final = 12  # hours at least
LOWEST: Final = 0.02  # share of the hours before that may have been lower
STEADY: Final = 0.25  # share of the slope that each half has at least
# Chance that a link begins to degrade in a month: links fail at 0.057 % a month (Alibaba HPN,
# SIGCOMM 2024, section 2), all of them held to degrade first.
PRIOR: Final = 5.7e-4
OCCAM: Final = np.log(20.0)  # how much a slope of any size is less likely than the one found
MAX_ODDS: Final = 9.0

_PAIRS: Final = np.array(list(combinations(range(NUM_BLOCKS), 2)))
_HALF: Final = NUM_BLOCKS // 2
_HALVES: Final = (_PAIRS[_PAIRS[:, 1] < _HALF], _PAIRS[_PAIRS[:, 0] >= _HALF])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trends:
    """The steepest trend of each of many links that is sure enough, else the surest.

    Attributes:
        slope_db_d: Decibels a day; negative where the margin falls. That of the later half where
            it is steeper: what came before the trend began is flat.
        error_db_d: Its standard error.
        level_db: The margin at the end of it.
        fall_db: By how much it fell over the time.
        noise_db: Scatter of a day about it.
        span_h: Over how long.
        confidence: Chance that it is there.
    """

    slope_db_d: Array
    error_db_d: Array
    level_db: Array
    fall_db: Array
    noise_db: Array
    span_h: Array
    confidence: Array


def without_daily_swing(margin_db: Array) -> Array:
    """Return margins less what they do at each hour of the day, by the median of all days.

    Args:
        margin_db: By link and hour, the last hour at the end; NaN where unknown.
    """
    num_links, num_hours = margin_db.shape
    days = num_hours // 24
    if days < MIN_DAYS_OF_SWING:
        return margin_db
    cube = margin_db[:, num_hours - 24 * days :].reshape(num_links, days, 24)
    with np.errstate(invalid="ignore"):
        apart = cube - known_median(cube, axis=2)[:, :, None]
    known = np.isfinite(apart).sum(axis=1) >= MIN_DAYS_OF_SWING
    profile = np.where(known, known_median(apart, axis=1), 0.0)
    phase = (np.arange(num_hours) - num_hours) % 24
    return np.asarray(margin_db - profile[:, phase])


def known_median(values: Array, axis: int) -> Array:
    """Return the median of what is known; NaN where nothing is."""
    missing = ~np.isfinite(values)
    if not missing.any():
        return np.asarray(np.median(values, axis=axis))
    ordered = np.moveaxis(np.sort(np.where(missing, np.inf, values), axis=axis), axis, -1)
    count = np.isfinite(ordered).sum(axis=-1)
    low, high = (np.clip((count + shift) // 2, 0, None) for shift in (-1, 0))
    size = ordered.shape[-1] - 1
    pick = [
        np.take_along_axis(ordered, np.minimum(one, size)[..., None], axis=-1)[..., 0]
        for one in (low, high)
    ]
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, (pick[0] + pick[1]) / 2, np.nan)


def best_trends(margin_db: Array) -> Trends:
    """Return the trend of each link up to now.

    Args:
        margin_db: By link and hour, without daily swing; NaN where unknown or before a cut.
    """
    found = [_trend(margin_db, block) for block in BLOCKS_H if fits(margin_db.shape[1], block)]
    if not found:
        return _none(len(margin_db))
    # Among those that are sure the one over the shortest time says best how it goes now.
    sure = np.stack([one.confidence for one in found])
    chosen = np.where((sure >= 0.5).any(axis=0), (sure >= 0.5).argmax(axis=0), sure.argmax(axis=0))
    rows = np.arange(len(margin_db))
    picked = {
        name: np.stack([getattr(one, name) for one in found])[chosen, rows]
        for name in Trends.__slots__
    }
    return Trends(**picked)


def fits(num_hours: int, block_h: int) -> bool:
    """Return whether a history is long enough for blocks of this length."""
    return num_hours >= NUM_BLOCKS * block_h


def _none(num_links: int) -> Trends:
    nothing, zero = np.full(num_links, np.nan), np.zeros(num_links)
    return Trends(
        slope_db_d=zero,
        error_db_d=nothing,
        level_db=nothing,
        fall_db=zero,
        noise_db=nothing,
        span_h=zero,
        confidence=zero,
    )


def _trend(margin_db: Array, block_h: int) -> Trends:
    blocks = _blocks(margin_db, block_h)
    gap_d = block_h / 24
    slope = _slope(blocks, _PAIRS) / gap_d
    halves = np.stack([_slope(blocks, pairs) / gap_d for pairs in _HALVES])
    age_d = gap_d * (np.arange(NUM_BLOCKS) - (NUM_BLOCKS - 1))
    rest = blocks - slope[:, None] * age_d
    level = known_median(rest, axis=1)
    rest = rest - level[:, None]
    noise = np.maximum(1.4826 * known_median(np.abs(rest), axis=1), MIN_NOISE_DB)
    span_d = NUM_BLOCKS * gap_d
    alike = _likeness(rest)
    spread = np.sqrt(12 / (NUM_BLOCKS * (NUM_BLOCKS**2 - 1))) / gap_d
    error = np.hypot(noise * spread * np.sqrt((1 + alike) / (1 - alike)), WANDER_DB / span_d)
    z = np.where((slope < 0) & (halves <= STEADY * slope).all(axis=0), -slope / error, 0.0)
    odds = np.minimum(np.log(PRIOR) - OCCAM + z**2 / 2, MAX_ODDS)
    fall = -slope * span_d
    known = np.isfinite(blocks).sum(axis=1) >= NUM_BLOCKS - 2
    known &= (fall >= MIN_FALLS_DB[block_h]) & np.isfinite(z) & (odds >= 0)
    rows = np.flatnonzero(known)
    known[rows] = _is_new(margin_db[rows], level[rows], fall[rows], block_h)
    return Trends(
        slope_db_d=np.where(known, np.minimum(slope, halves[1]), 0.0),
        error_db_d=error,
        level_db=level,
        fall_db=np.where(known, fall, 0.0),
        noise_db=noise * np.sqrt(max(1.0, 1 / gap_d)),
        span_h=np.full(len(level), 24 * span_d),
        confidence=np.where(known, 1 / (1 + np.exp(-odds)), 0.0),
    )


def _is_new(margin_db: Array, level_db: Array, fall_db: Array, block_h: int) -> NDArray[np.bool_]:
    """Return whether a margin is lower now than it ever was before the trend.

    Where less than three days before are known it must have fallen by more, over six days or more.
    """
    alone = (fall_db >= ALONE_DB) & (block_h >= ALONE_H)
    before = np.sort(margin_db[:, : -NUM_BLOCKS * block_h], axis=1)
    if not before.shape[1]:
        return alone
    count = np.isfinite(before).sum(axis=1)
    lowest = before[np.arange(len(before)), (LOWEST * count).astype(int)]
    with np.errstate(invalid="ignore"):
        lower = level_db < lowest - BELOW_DB
    return np.where(count >= 24 * MIN_DAYS_OF_SWING, lower, alone)


def _blocks(margin_db: Array, block_h: int) -> Array:
    """Return the median of each of the last twelve blocks; NaN where less than half is known."""
    some = margin_db[:, -NUM_BLOCKS * block_h :].reshape(len(margin_db), NUM_BLOCKS, block_h)
    enough = 2 * np.isfinite(some).sum(axis=2) >= block_h
    return np.where(enough, known_median(some, axis=2), np.nan)


def _slope(blocks: Array, pairs: NDArray[np.int64]) -> Array:
    """Return the median of the slopes between all pairs of blocks (Theil and Sen), by block."""
    before, after = pairs[:, 0], pairs[:, 1]
    each = (blocks[:, after] - blocks[:, before]) / (after - before)
    return np.nan_to_num(known_median(each, axis=1))


def _likeness(rest: Array) -> Array:
    """Return how alike neighbouring residuals are, 0 to 0.6."""
    now = np.nan_to_num(rest)
    power = (now**2).sum(axis=1)
    shared = (now[:, 1:] * now[:, :-1]).sum(axis=1)
    alike = np.divide(shared, power, out=np.zeros_like(power), where=power > 0)
    return np.asarray(np.clip(alike, 0.0, 0.6))
