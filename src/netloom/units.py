"""Units: parse what people write ("400Gbps"), compute in base units, print for people.

Everything past this module is a plain float or int whose name carries its unit:
``latency_s``, ``size_bytes``, ``rate_bps``. A number without its unit is an error here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from netloom.errors import SpecError, place_called

__all__ = [
    "DIMENSIONS",
    "FLOPS",
    "LENGTH",
    "MONEY",
    "POWER",
    "RATE",
    "SHARE",
    "SIZE",
    "TIME",
    "Dimension",
    "format_count",
    "format_quantity",
    "parse_quantity",
]

_QUANTITY = re.compile(
    r"\s*(?P<number>[-+]?(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?(?:nan|inf(?:inity)?)(?![a-z]))"
    r"\s*(?P<unit>[A-Za-z%][A-Za-z/%]*)?\s*",
    re.IGNORECASE,
)
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Dimension:
    """A kind of quantity and the units it may be written in.

    Attributes:
        name: What a quantity of it is called in messages: ``rate``.
        base: The unit that numbers inside netloom are in: ``bit/s``.
        example: A quantity as a person would write it.
        units: What each accepted unit is worth in base units.
        shown: The units used for printing, largest first.
    """

    name: str
    base: str
    example: str
    units: dict[str, float]
    shown: tuple[str, ...]


def _decimal(suffix: str, prefixes: str = "KMGTPE", scale: float = 1.0) -> dict[str, float]:
    units = {suffix: scale}
    for power, prefix in enumerate(prefixes, start=1):
        units[prefix + suffix] = scale * 1000.0**power
        if prefix == "K":
            units["k" + suffix] = scale * 1000.0**power
    return units


RATE: Final = Dimension(
    name="rate",
    base="bit/s",
    example="400Gbps",
    units=_decimal("bps")
    | _decimal("bit/s")
    | _decimal("B/s", scale=8.0)
    | {"KiB/s": 8.0 * 2**10, "MiB/s": 8.0 * 2**20, "GiB/s": 8.0 * 2**30, "TiB/s": 8.0 * 2**40},
    shown=("Pbps", "Tbps", "Gbps", "Mbps", "Kbps", "bps"),
)
SIZE: Final = Dimension(
    name="size",
    base="B",
    example="16MiB",
    units=_decimal("B")
    | {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50},
    shown=("PB", "TB", "GB", "MB", "KB", "B"),
)
TIME: Final = Dimension(
    name="time",
    base="s",
    example="2us",
    units={
        "ps": 1e-12,
        "ns": 1e-9,
        "us": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "min": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "days": 86400.0,
        "weeks": 604800.0,
        "years": 31557600.0,
    },
    shown=("years", "d", "h", "s", "ms", "us", "ns", "ps"),
)
LENGTH: Final = Dimension(
    name="length",
    base="m",
    example="30m",
    units={"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3},
    shown=("km", "m", "cm", "mm"),
)
POWER: Final = Dimension(
    name="power",
    base="W",
    example="700W",
    units=_decimal("W", "KMG"),
    shown=("GW", "MW", "kW", "W"),
)
MONEY: Final = Dimension(
    name="price",
    base="USD",
    example="36000USD",
    units={"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6, "BUSD": 1e9},
    shown=("BUSD", "MUSD", "kUSD", "USD"),
)
FLOPS: Final = Dimension(
    name="compute rate",
    base="FLOP/s",
    example="989TFLOPS",
    units=_decimal("FLOPS", "KMGTPE") | _decimal("FLOP/s", "KMGTPE"),
    shown=("EFLOPS", "PFLOPS", "TFLOPS", "GFLOPS"),
)
SHARE: Final = Dimension(name="share", base="", example="5%", units={"%": 0.01}, shown=("%",))

DIMENSIONS: Final = (RATE, SIZE, TIME, LENGTH, POWER, MONEY, FLOPS, SHARE)


def parse_quantity(text: str, dimension: Dimension, *, where: str) -> float:
    """Return the quantity written in *text*, in the base unit of *dimension*.

    Args:
        text: A number and a unit, such as ``"400Gbps"``; spaces between them are allowed.
        dimension: What kind of quantity is meant; decides which units are accepted.
        where: The field being read; it opens the error message.

    Raises:
        SpecError: *text* has no unit, another dimension's unit, or is not finite.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise SpecError(
            where=place_called(where),
            what=f"{_shown(text)} is not a {dimension.name}",
            remedy=f"write a number and a unit, such as {dimension.example!r}",
        )
    number = float(match["number"].replace("_", ""))
    quantity = number
    if math.isfinite(number):
        quantity = number * _scale(text, match["unit"], dimension, where=where)
    if not math.isfinite(quantity):
        raise SpecError(
            where=place_called(where),
            what=f"{_shown(text)} is not a finite {dimension.name}",
            remedy=f"write one such as {dimension.example!r}",
        )
    return quantity


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


def _scale(text: str, unit: str | None, dimension: Dimension, *, where: str) -> float:
    if unit is None:
        raise SpecError(
            where=place_called(where),
            what=f"{_shown(text)} has no unit",
            remedy=f"a {dimension.name} is written as {dimension.example!r}",
        )
    if unit in dimension.units:
        return dimension.units[unit]
    close = [known for known in dimension.units if known.lower() == unit.lower()]
    known = ", ".join(dimension.shown)
    hint = f"did you mean {close[0]!r}?" if close else f"a {dimension.name} is written in {known}"
    raise SpecError(
        where=place_called(where), what=f"{_shown(text)} has the unit {_shown(unit)}", remedy=hint
    )


def format_quantity(value: float, dimension: Dimension, *, digits: int = 3) -> str:
    """Return *value*, in base units, as a person would write it: ``"400Gbps"``.

    The largest unit of ``dimension.shown`` that keeps the number, as printed, at 1 or more is
    used, and the base unit for nothing at all; *digits* is the least number of significant
    digits, trailing zeros dropped.
    """
    if not math.isfinite(value):
        return str(value)
    # Rounded first: 999.9996 Gbit/s prints as 1Tbps, not as 1e+03Gbps.
    rounded = abs(float(f"{value:.{digits}g}"))
    unit = next(
        (name for name in dimension.shown if (rounded or 1.0) >= dimension.units[name]),
        dimension.shown[-1],
    )
    scaled = value / dimension.units[unit]
    whole = max(digits, len(str(round(abs(scaled)))))
    return f"{scaled:.{whole}g}{unit}"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun: ``"1 GPU"``, ``"1,024 GPUs"``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
