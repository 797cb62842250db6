"""Pydantic types for fields that need a unit."""

from __future__ import annotations

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

__all__ = ["Flops", "LengthM", "MoneyUsd", "PowerW", "RateBps", "Share", "SizeBytes", "TimeS"]


def _quantity(dimension: Dimension) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(value: object) -> float:
        if not isinstance(value, str):
            message = f"has no unit; a {dimension.name} is written as {dimension.example!r}"
            raise ValueError(message)  # noqa: TRY004  (pydantic turns ValueError into a field error)
        try:
            return parse_quantity(value, dimension, where="")
        except SpecError as error:
            raise ValueError(str(error).removeprefix(": ")) from error

    schema: dict[str, Any] = {
        "type": "string",
        "description": f"A {dimension.name} with its unit, such as '{dimension.example}'",
        "examples": [dimension.example],
    }
    return BeforeValidator(read), WithJsonSchema(schema)


TimeS = Annotated[float, *_quantity(TIME)]
LengthM = Annotated[float, *_quantity(LENGTH)]
MoneyUsd = Annotated[float, *_quantity(MONEY)]
Share = Annotated[float, *_quantity(SHARE)]
RateBps = Annotated[float, *_quantity(RATE)]
SizeBytes = Annotated[float, *_quantity(SIZE)]
PowerW = Annotated[float, *_quantity(POWER)]
Flops = Annotated[float, *_quantity(FLOPS)]
