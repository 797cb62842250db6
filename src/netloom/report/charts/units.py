"""How the numbers of an axis are written: in the unit that keeps them short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BYTES", "COUNT", "MONEY", "PERCENT", "PLAIN", "SECONDS", "Unit", "UnitStep"]

_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class UnitStep:
    """A multiple of the base unit.

    Attributes:
        size: How many base units it is worth.
        name: What stands behind the number: ``MB``.
        least: Use it where the largest number has this many of it.
    """

    size: float
    name: str
    least: float = 1.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A base unit and its multiples, the smallest first; *is_whole* where there are no halves."""

    steps: tuple[UnitStep, ...]
    is_whole: bool = False

    def step(self, largest: float) -> UnitStep:
        """Return the multiple in which *largest*, in base units, is a short number."""
        # A little less than one: 999.96 us, shown in four digits, is 1 ms.
        fitting = [step for step in self.steps if abs(largest) >= 0.9999 * step.least * step.size]
        base = next(step for step in self.steps if step.size == 1)
        return fitting[-1] if fitting else self.steps[0] if largest else base

    def write(self, value: float, *, digits: int = 4) -> str:
        """Return *value*, in base units, with its unit: ``"80 MB"``."""
        step = self.step(value)
        return f"{plain(value / step.size, digits=digits)} {step.name}".rstrip()


def plain(value: float, *, digits: int = 4) -> str:
    """Return a number in *digits* significant digits, the thousands set off by commas."""
    if abs(value) >= _THOUSAND and round(value) == value:
        return f"{value:,.0f}"
    if abs(value) >= 10**digits:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    shown = f"{value:,.{digits}g}"
    return f"{value:,.0f}" if "e+" in shown else shown


PLAIN: Final = Unit((UnitStep(1, ""),))
COUNT: Final = Unit((UnitStep(1, ""),), is_whole=True)
PERCENT: Final = Unit((UnitStep(1, "%"),))
MONEY: Final = Unit((UnitStep(1, "USD"), UnitStep(1e3, "kUSD"), UnitStep(1e6, "million USD")))
BYTES: Final = Unit(
    tuple(UnitStep(1000.0**power, f"{prefix}B") for power, prefix in enumerate(("", *"KMGTP")))
)
SECONDS: Final = Unit(
    (
        UnitStep(1e-12, "ps"),
        UnitStep(1e-9, "ns"),
        UnitStep(1e-6, "us"),
        UnitStep(1e-3, "ms"),
        UnitStep(1, "s"),
        UnitStep(3600, "h", least=3),
        UnitStep(86_400, "days", least=3),
    )
)
