"""Words of text files, with the line each stands in for messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, NoReturn

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TextLine", "lines_of", "shown", "unread_lines"]

_DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_MAX_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """The words of one line.

    Attributes:
        where: File and line, ``x.topo:3``.
    """

    where: str
    words: tuple[str, ...]

    def refuse(self, what: str) -> NoReturn:
        """Raise SpecError about this line; *what* says what is wrong and what to do."""
        message = f"{self.where}: {what}"
        raise SpecError(message)

    def whole(self, word: str, what: str, *, least: int = 0, most: int = 2**62) -> int:
        """Return *word* as a whole number in range.

        Raises:
            SpecError: it is none; the message calls it *what*.
        """
        if not _DIGITS.fullmatch(word) or not least <= int(word) <= most:
            self.refuse(f"{shown(word)} is no {what}; write a whole number from {least}")
        return int(word)

    def number(self, word: str, what: str, *, most: int = 10**18) -> Decimal:
        """Return *word* as an exact number of 0 or more.

        Raises:
            SpecError: it is none.
        """
        try:
            value = Decimal(word)
        except InvalidOperation:
            value = Decimal(-1)
        if not (value.is_finite() and 0 <= value <= most):
            self.refuse(f"{shown(word)} is no {what}; write a number of 0 or more")
        return value

    def expect(self, count: int, form: str) -> None:
        """Raise SpecError unless there are *count* words; *form* shows what they are."""
        if len(self.words) != count:
            self.refuse(f"{shown(' '.join(self.words))} has not the form '{form}'")


def lines_of(text: str, *, name: str, comments: bool = True) -> Iterator[TextLine]:
    """Yield the lines of *text* that hold words, without what follows a ``#``."""
    for number, line in enumerate(text.splitlines(), start=1):
        kept = line.partition("#")[0] if comments else line
        words = tuple(kept.split())
        if words:
            yield TextLine(where=f"{name}:{number}", words=words)


def unread_lines(found: dict[str, Any], text: str, *, name: str) -> Iterator[tuple[int, TextLine]]:
    """Yield the lines of *text* that the core did not read, and how many rows come before each.

    Args:
        found: What a scan of :mod:`netloom.engines.native` gave.
        text: What it read.
        name: Opens the messages.
    """
    if not found["is_plain"]:
        yield from ((0, line) for line in lines_of(text, name=name))
        return
    columns = (
        found[f"unread_{column}"].tolist() for column in ("line", "begin", "end", "position")
    )
    for number, begin, end, position in zip(*columns, strict=True):
        words = tuple(text[begin:end].split())
        yield position, TextLine(where=f"{name}:{number}", words=words)


def shown(text: str) -> str:
    """Return *text* in quotes, cut where it is long."""
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")
