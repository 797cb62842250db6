"""Kinds of argument that several commands take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, Token

from netloom.errors import CatalogError, SpecError

if TYPE_CHECKING:
    from netloom.parts.load import Catalog

__all__ = ["OptionalWhole", "Whole", "technologies_of", "words_of"]


def _whole(_: object, tokens: Sequence[Token]) -> int:
    """Return a count as written; cyclopts itself would round 1.5."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        message = f"{tokens[0].value[:40]!r} is not a whole number; write digits alone."
        raise ValueError(message) from error


Whole = Annotated[int, Parameter(converter=_whole)]
OptionalWhole = Annotated[int | None, Parameter(converter=_whole)]


def words_of(text: str | None, *, option: str) -> tuple[str, ...]:
    """Return the words of a list separated by commas; none where the option was not given.

    Raises:
        SpecError: it was given, and holds no word.
    """
    words = tuple(filter(None, re.split(r"[,\s]+", text or "")))
    if text is not None and not words:
        raise SpecError(
            option=option, what=f"{text!r} names nothing", remedy="write names separated by commas"
        )
    return words


def technologies_of(text: str | None, catalog: Catalog) -> tuple[str, ...]:
    """Return what ``--technologies`` names; nothing where it was not given.

    Raises:
        SpecError: it was given, and holds no word.
        CatalogError: one of them is not known.
    """
    option = "--technologies"
    names = words_of(text, option=option)
    for name in names:
        try:
            catalog.technology(name)
        except CatalogError as error:
            raise CatalogError(option=option, what=str(error)) from error
    return names
