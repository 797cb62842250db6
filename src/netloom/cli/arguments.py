"""Kinds of argument that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token

__all__ = ["OptionalWhole", "Whole"]


def _whole(_: object, tokens: Sequence[Token]) -> int:
    """Return a count as written; cyclopts itself would round 1.5."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        message = f"{tokens[0].value[:40]!r} is not a whole number; write digits alone."
        raise ValueError(message) from error


Whole = Annotated[int, Parameter(converter=_whole)]
OptionalWhole = Annotated[int | None, Parameter(converter=_whole)]
