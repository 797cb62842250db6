"""Traces of optics as switches tell them, hour by hour: healthy links, and links that degrade.

Light and noise are independent of what ops/optics assumes but for the receiver's law (BER from Q).
All shares and sizes are assumed; they are meant to be worse than what operators describe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Fleet", "fleet"]

DAY_H = 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fleet:
    """Some links over some hours, one row each.

    Attributes:
        error_rate: Before correction, rounded to one digit as mlxlink prints it.
        receive_dbm: Rounded to 0.1 dB.
        bias_a: Of the laser.
        downs: Times down in each hour.
        drop_h: Hour at which each drops; infinite for healthy ones.
        start_h: Hour at which each begins to degrade.
    """

    error_rate: Array
    receive_dbm: Array
    bias_a: Array
    downs: Array
    drop_h: Array
    start_h: Array


def fleet(rng: np.random.Generator, num_links: int, num_hours: int, *, degrading: bool) -> Fleet:
    """Return a fleet, all of it healthy or all of it degrading."""
    shape = (num_links, num_hours)
    time_h = np.arange(num_hours, dtype=float)
    loss_db = _swing(rng, shape, time_h) + _wander(rng, shape)
    steps, downs = _reseats(rng, shape)
    loss_db += steps
    start_h, drop_h = np.full(num_links, np.inf), np.full(num_links, np.inf)
    # Healthy links of four-level optics: 1e-12 to 1e-6 (assumed).
    quality = _quality(10 ** rng.uniform(-12, -6, num_links))
    limit = _quality(np.array([2.4e-4]))[0]
    laser = np.zeros(shape)
    if degrading:
        start_h = rng.uniform(7 * DAY_H, 10 * DAY_H, num_links)
        took_h = DAY_H * 10 ** rng.uniform(np.log10(1.0), np.log10(45.0), num_links)
        margin_db = 10 * np.log10(quality / limit)
        wear = _wear(rng, time_h, start_h, took_h, margin_db)
        loss_db += wear
        is_laser = rng.random(num_links) < 0.3
        laser[is_laser] = 0.1 * wear[is_laser]
    seen = quality[:, None] * 10 ** (-loss_db / 10)
    if degrading:
        below = seen < limit * 1.0
        drop_h = np.where(below.any(axis=1), below.argmax(axis=1), np.inf)
    rate = np.clip(_rate(seen) * 10 ** (0.04 * rng.standard_normal(shape)), 1e-15, 0.3)
    receive = np.round(rng.uniform(-3, 1, num_links)[:, None] - loss_db, 1)
    bias = 0.06 * (1 + laser + 0.003 * rng.standard_normal(shape) + 0.01 * np.sin(time_h / 3.82))
    missing = rng.random(shape) < 0.02
    return Fleet(
        error_rate=np.where(missing, np.nan, _one_digit(rate)),
        receive_dbm=np.where(missing, np.nan, receive),
        bias_a=np.where(missing, np.nan, np.round(bias, 4)),
        downs=downs,
        drop_h=drop_h,
        start_h=start_h,
    )


def _swing(rng: np.random.Generator, shape: tuple[int, int], time_h: Array) -> Array:
    """Return what the temperature of the day does, with weather of its own each day."""
    size = rng.uniform(0.0, 0.25, shape[0])[:, None]
    phase = rng.uniform(0, 2 * np.pi, shape[0])[:, None]
    weather = 1 + 0.3 * rng.standard_normal((1, shape[1] // DAY_H + 1)).repeat(DAY_H, axis=1)
    return np.asarray(size * weather[:, : shape[1]] * np.sin(2 * np.pi * time_h / DAY_H + phase))


def _wander(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return slow wandering (0.1 dB, four days) and the noise of single readings (0.05 dB)."""
    keep = np.exp(-1 / (4 * DAY_H))
    noise = 0.1 * np.sqrt(1 - keep**2) * rng.standard_normal(shape)
    noise[:, 0] = 0.1 * rng.standard_normal(shape[0])
    for hour in range(1, shape[1]):
        noise[:, hour] += keep * noise[:, hour - 1]
    spikes = np.where(rng.random(shape) < 1e-3, rng.exponential(0.8, shape), 0.0)
    return np.asarray(noise + 0.05 * rng.standard_normal(shape) + spikes)


def _reseats(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Return steps of light where people touched a link, and the flaps that go with most."""
    steps, downs = np.zeros(shape), np.zeros(shape)
    touched = np.argwhere(rng.random(shape) < 0.3 / (30 * DAY_H))
    for link, hour in touched.tolist():
        # What was before is gone with the old contact; one that is much worse is done again.
        steps[link, hour:] = min(rng.normal(0, 0.35), 0.6)
        if rng.random() < 0.8:
            downs[link, hour] += rng.integers(1, 4)
    downs += rng.random(shape) < 0.01 / DAY_H  # one flap in a hundred days
    return steps, downs


def _wear(
    rng: np.random.Generator, time_h: Array, start_h: Array, took_h: Array, margin_db: Array
) -> Array:
    """Return how much light is lost: steady, ever faster, or in many small steps."""
    share = np.clip((time_h[None, :] - start_h[:, None]) / took_h[:, None], 0, None)
    kind = rng.integers(0, 3, len(start_h))[:, None]
    steps = np.floor(share * 12 + 0.3 * rng.standard_normal((len(start_h), 1))) / 12
    grown = np.select([kind == 0, kind == 1], [share, share**1.7], np.clip(steps, 0, None))
    return np.asarray(margin_db[:, None] * grown)


_GRID = np.linspace(0.1, 9.0, 4000)


_ERFC = (
    *(0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807),
    *(-0.18628806, 0.09678418, 0.37409196, 1.00002368),
)


def _erfc(x: Array) -> Array:
    """Return the complementary error function of what is not negative, to 1.2e-7 of itself."""
    t = 1 / (1 + 0.5 * x)
    total = np.zeros_like(t)
    for one in _ERFC:  # Numerical Recipes, erfcc
        total = total * t + one
    return np.asarray(t * np.exp(-x * x - 1.26551223 + t * total))


def _rate(quality: Array) -> Array:
    return 0.375 * _erfc(quality / np.sqrt(2))


def _quality(rate: Array) -> Array:
    log = np.log(_rate(_GRID))
    return np.asarray(np.interp(-np.log(rate), -log, _GRID))


def _one_digit(rate: Array) -> Array:
    size = 10.0 ** np.floor(np.log10(rate))
    return np.asarray(np.round(rate / size) * size)
