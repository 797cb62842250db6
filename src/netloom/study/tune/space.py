"""What a search may turn: knobs with ranges, as a point of the unit cube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Knob", "KnobSpace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One number that a search may choose.

    Attributes:
        name: Such as ``kmin_bytes``.
        group: What ``--over`` calls it: ``ecn``, ``dcqcn``, ``pfc``, ...
        unit: ``B``, ``s``, or empty.
        low: The least.
        high: The most.
        default: Where it stands without a search.
        is_log: Whether equal steps are equal ratios.
        is_whole: Whether it is a count.
    """

    name: str
    group: str
    unit: str
    low: float
    high: float
    default: float
    is_log: bool = True
    is_whole: bool = False

    def at(self, share: float) -> float:
        """Return the value at *share* of the range, 0 to 1."""
        share = min(max(share, 0.0), 1.0)
        if self.is_log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        value = min(max(value, self.low), self.high)
        return float(round(value)) if self.is_whole else value

    def share_of(self, value: float) -> float:
        """Return where in the range *value* stands; its ends where it is outside."""
        if self.high <= self.low:
            return 0.0
        value = min(max(value, self.low), self.high)
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "knob": self.name,
            "group": self.group,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "default": self.default,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSpace:
    """All knobs of a search."""

    knobs: tuple[Knob, ...]

    def values(self, point: Sequence[float] | NDArray[np.float64]) -> dict[str, float]:
        """Return the settings at a point of the unit cube."""
        return {
            knob.name: knob.at(float(share)) for knob, share in zip(self.knobs, point, strict=True)
        }

    def point(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the point of settings; what they lack stands at its default."""
        return np.array(
            [knob.share_of(values.get(knob.name, knob.default)) for knob in self.knobs],
            dtype=np.float64,
        )

    @property
    def defaults(self) -> dict[str, float]:
        """Every knob where it stands without a search."""
        return {knob.name: knob.default for knob in self.knobs}
