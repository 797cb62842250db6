"""Pydantic types for fields that need a unit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from netloom.errors import SpecError
from netloom.units import (
    FLOPS,
    LENGTH,
    MONEY,
    POWER,
    RATE,
    SHARE,
    SIZE,
    TIME,
    Dimension,
    parse_quantity,
)

__all__ = [
    "DimensionOf",
    "Flops",
    "LengthM",
    "MoneyUsd",
    "PowerW",
    "RateBps",
    "Share",
    "SizeBytes",
    "TimeS",
    "write_quantity",
]

_NUMBER = r"[-+]?([0-9]+(_[0-9]+)*(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"


@dataclass(frozen=True, slots=True, eq=False)
class DimensionOf:
    """Marks a type whose values are of *dimension*, for messages and the JSON schema."""

    dimension: Dimension


def write_quantity(value: float, dimension: Dimension) -> str:
    """Return a short text that :func:`~netloom.units.parse_quantity` reads as *value*.

    It is exact to the last bit in every dimension that has a unit worth 1; a share may be off
    by a rounding, as it is only ever written in percent.
    """
    scaled = {unit: value / scale for unit, scale in dimension.units.items()}
    numbers = {unit: _digits(number) for unit, number in scaled.items() if math.isfinite(number)}
    exact = [unit for unit in numbers if scaled[unit] * dimension.units[unit] == value]
    unit = min(exact or numbers, key=lambda unit: (len(numbers[unit]), -dimension.units[unit]))
    return numbers[unit] + unit


def _digits(number: float) -> str:
    return repr(number).removesuffix(".0")


def _quantity(dimension: Dimension) -> tuple[DimensionOf, BeforeValidator, WithJsonSchema]:
    def read(value: object) -> float:
        if not isinstance(value, str):
            message = f"has no unit; a {dimension.name} is written as {dimension.example!r}"
            raise ValueError(message)  # noqa: TRY004  (pydantic turns ValueError into a field error)
        try:
            return parse_quantity(value, dimension, where="")
        except SpecError as error:
            raise ValueError(str(error)) from error

    units = "|".join(re.escape(unit) for unit in dimension.units)
    schema: dict[str, Any] = {
        "type": "string",
        "pattern": rf"^\s*{_NUMBER}\s*({units})\s*$",
        "description": f"A {dimension.name} with its unit, such as '{dimension.example}'",
        "examples": [dimension.example],
        "x-dimension": dimension.name,
    }
    return DimensionOf(dimension), BeforeValidator(read), WithJsonSchema(schema)


TimeS = Annotated[float, *_quantity(TIME)]
LengthM = Annotated[float, *_quantity(LENGTH)]
MoneyUsd = Annotated[float, *_quantity(MONEY)]
Share = Annotated[float, *_quantity(SHARE)]
RateBps = Annotated[float, *_quantity(RATE)]
SizeBytes = Annotated[float, *_quantity(SIZE)]
PowerW = Annotated[float, *_quantity(POWER)]
Flops = Annotated[float, *_quantity(FLOPS)]
