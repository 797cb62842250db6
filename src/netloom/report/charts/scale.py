"""From values to places on paper: ends of an axis, round ticks, their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.report.charts.units import UnitStep, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.report.charts.model import ChartAxis

__all__ = ["Scale", "scale_of", "text_width"]

_ROOM: Final = 0.04  # of the axis, beyond the outermost points
_CROWDED: Final = 0.4  # decades from which round steps crowd at the upper end
_ROUND: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_BINARY_STEPS: Final = (1, 2, 5, 10, 20)
_NARROW: Final = frozenset("iljtfrI.,:;'|!()[] /-")
_WIDE: Final = frozenset("mwMW%@")


def text_width(text: str, size_px: float) -> float:
    """Return about how wide *text* is in a wide sans-serif of *size_px*; most are narrower."""
    units = sum(
        0.37
        if letter in _NARROW
        else 0.92
        if letter in _WIDE
        else 0.72
        if letter.isupper()
        else 0.61
        for letter in text
    )
    return units * size_px


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A part of an axis: *low* lies at *start_px*, *high* at *end_px*."""

    axis: ChartAxis
    low: float
    high: float
    start_px: float
    end_px: float

    def at(self, value: float) -> float:
        """Return where *value* lies."""
        low, high = _on(self.axis, self.low), _on(self.axis, self.high)
        share = (_on(self.axis, value) - low) / (high - low)
        return self.start_px + share * (self.end_px - self.start_px)

    def holds(self, value: float) -> bool:
        """Return whether *value* lies between the ends."""
        return self.low <= value <= self.high

    @property
    def step(self) -> UnitStep | None:
        """The multiple of the unit that all ticks are in; None where each has its own."""
        unit = self.axis.unit
        largest, least = max(abs(self.low), abs(self.high)), min(abs(self.low), abs(self.high))
        if self.axis.is_log and unit.step(largest) != unit.step(least):
            return None
        return unit.step(largest)

    @property
    def title(self) -> str:
        """What the axis says: its title, and its unit if the ticks do not say theirs."""
        name = self.step.name if self.step else ""
        return ", ".join(part for part in (self.axis.title, name) if part)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most about *most* round values between the ends, with their labels."""
        step = self.step
        if step is None:
            return [(value, self.axis.unit.write(value)) for value in self._values(most, 1.0)]
        found = self._values(most, step.size)
        return [(value, plain(value / step.size, digits=6)) for value in found]

    def _values(self, most: int, size: float) -> list[float]:
        if not self.axis.is_log:
            found = _round_values(self.low, self.high, most, size)
            return [one for one in found if one == round(one) or not self.axis.unit.is_whole]
        if self.axis.is_binary:
            return _binary_powers(self.low, self.high, most)
        decades = math.log10(self.high / self.low)
        if decades < 1:  # so few that round steps read better than powers
            more = 2 if decades > _CROWDED else 0  # the lower ones stand far apart
            return _round_values(self.low, self.high, most + more, size)
        return _powers(self.low, self.high, most)


def _on(axis: ChartAxis, value: float) -> float:
    return math.log10(value) if axis.is_log else value


def scale_of(axis: ChartAxis, values: Iterable[float], *, start_px: float, end_px: float) -> Scale:
    """Return the scale that holds *values*, or has the bounds that *axis* demands."""
    low, high = axis.bounds or _ends(axis, [value for value in values if _can_show(axis, value)])
    return Scale(axis=axis, low=low, high=high, start_px=start_px, end_px=end_px)


def _can_show(axis: ChartAxis, value: float) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.is_log)


def _ends(axis: ChartAxis, values: list[float]) -> tuple[float, float]:
    if not values:
        return (1.0, 10.0) if axis.is_log else (0.0, 1.0)
    low, high = min(values), max(values)
    if axis.is_log:
        room = 10 ** (_ROOM * math.log10(high / low)) if high > low else 1.5
        return low / room, high * room
    if axis.from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = _ROOM * (high - low) or abs(high) * 0.1 or 1.0
    below = 0.0 if axis.from_zero and low == 0 else room
    above = 0.0 if axis.from_zero and high == 0 < -low else room
    return low - below, high + above


def _round_values(low: float, high: float, most: int, size: float) -> list[float]:
    """Return multiples of a round step, in units of *size*."""
    rough = (high - low) / size / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * one for one in _ROUND if power * one >= rough * (1 - 1e-9))
    first, last = math.ceil(low / size / step - 1e-9), math.floor(high / size / step + 1e-9)
    return [round(number * step, 12) * size for number in range(first, last + 1)]


def _binary_powers(low: float, high: float, most: int) -> list[float]:
    """Return powers of two, or of them every second, fifth, tenth or twentieth."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    for step in _BINARY_STEPS:
        found = [2.0**power for power in range(first, last + 1) if power % step == 0]
        if len(found) <= most:
            return found
    return [2.0**first, 2.0**last]


def _powers(low: float, high: float, most: int) -> list[float]:
    """Return powers of ten, or of them every second or third, or 1, 2 and 5 times them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    finer = [mantissa * 10.0**power for power in range(first, last) for mantissa in (1, 2, 5)]
    shown = [value for value in finer if low <= value <= high]
    if len(shown) <= most:
        return shown
    whole = [10.0**power for power in range(first, last + 1) if low <= 10.0**power <= high]
    return whole[:: max(1, -(-len(whole) // most))]
