"""Lines of logs as launchers and terminals leave them: cleaned, numbered, told apart by rank.

What every reader of logs shares, whatever its family. Lines are read one at a time, so that a
log of any length takes the memory of what is kept of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import TextIOBase
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "MAX_LINE",
    "BadLine",
    "BadLineTally",
    "BadLines",
    "LogSource",
    "clean_lines",
    "number",
    "peek",
    "raw_lines",
    "text_of",
    "whole_number",
    "without_colour",
]

LogSource: TypeAlias = "str | Iterable[str]"
"""A text, or its lines: an open file is both quicker and smaller than its content."""

MAX_LINE: Final = 4000  # characters; the rest of a longer line is not looked at
MAX_ROWS: Final = 400_000  # that a reader keeps of one log
MAX_NAMED: Final = 20
MAX_BLANK_LINES: Final = 1000  # before the first that is not
MAX_SHOWN: Final = 80  # characters
MAX_VALUE: Final = 1e18

_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?|.)", re.DOTALL
)
_STAMP: Final = re.compile(
    r"\s{0,9}\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s+",
    re.ASCII,
)
# Open MPI --tag-output "[1,0]<stdout>:", PRRTE "[prterun-n1-77@1,0]<stdout>:", with
# --timestamp-output a date before either; Slurm's srun -l "0: "; MPICH and Intel MPI -l "[0] ".
_TAG: Final = re.compile(
    r"\s{0,9}(?:"
    r"[A-Z]?[^\[\]]{0,40}\[[^\[\]\s]{0,120}?\d{1,9},(?P<mpi>\d{1,9})\]<std(?:out|err|diag)>: ?"
    r"|(?P<srun>\d{1,7}): "
    r"|\[(?:rank ?)?(?P<bracket>\d{1,7})\] ?"
    r")",
    re.ASCII,
)
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"\d{1,18},\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that looks like one of the format and cannot be used.

    Attributes:
        line: Its number, from 1.
        why: What is wrong with it.
        text: How it begins.
    """

    line: int
    why: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLines:
    """The lines that could not be used.

    Attributes:
        num: How many.
        first: The first of them.
    """

    num: int = 0
    first: tuple[BadLine, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return self.num > 0

    def __str__(self) -> str:
        """Return the count, and the first by number."""
        if not self.num:
            return "no bad lines"
        named = "; ".join(f"line {one.line}: {one.why}" for one in self.first[:3])
        return f"{self.num} bad line{'s' * (self.num > 1)} ({named})"


@dataclass(slots=True)
class BadLineTally:
    """Counts bad lines and keeps the first; bounds the rows that a reader keeps."""

    num: int = 0
    first: list[BadLine] = field(default_factory=list)
    rows_left: int = MAX_ROWS

    def add(self, line: int, why: str, text: str = "") -> None:
        """Count a line."""
        self.num += 1
        if len(self.first) < MAX_NAMED:
            self.first.append(BadLine(line=line, why=why, text=text.strip()[:MAX_SHOWN]))

    def has_room(self, line: int) -> bool:
        """Return whether another row may be kept; else its line is a bad one."""
        self.rows_left -= 1
        if self.rows_left < 0:
            self.add(line, f"more than {MAX_ROWS} rows; the rest is left out")
        return self.rows_left >= 0

    def freeze(self) -> BadLines:
        """Return what was counted."""
        return BadLines(num=self.num, first=tuple(self.first))


def raw_lines(source: LogSource) -> Iterator[str]:
    """Yield the lines of *source*, none longer than MAX_LINE, without their ends."""
    if isinstance(source, _Rest):
        source = source.bounded()
    elif isinstance(source, TextIOBase):
        source = _line_beginnings(source)
    if not isinstance(source, str):
        for line in source:
            yield line[:MAX_LINE].rstrip("\r\n") if len(line) > MAX_LINE else line.rstrip("\r\n")
        return
    start, end = 0, source.find("\n")
    while end >= 0:
        yield source[start : min(end, start + MAX_LINE)].rstrip("\r")
        start, end = end + 1, source.find("\n", end + 1)
    if start < len(source):
        yield source[start : start + MAX_LINE].rstrip("\r")


def _line_beginnings(stream: TextIOBase) -> Iterator[str]:
    """Yield the lines of an open file; no more of a long one is in memory than is looked at."""
    while line := stream.readline(MAX_LINE):
        yield line
        while line and not line.endswith("\n"):
            line = stream.readline(MAX_LINE)


def peek(source: LogSource) -> tuple[str, LogSource]:
    """Return the first line that is not blank, and the source as it was."""
    if isinstance(source, str):
        return next((line for line in raw_lines(source) if line.strip()), ""), source
    lines = iter(source)
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line.strip() or len(seen) > MAX_BLANK_LINES:
            break
    return (seen[-1] if seen else "")[:MAX_LINE].rstrip("\r\n"), _Rest(seen, lines)


class _Rest:
    """Lines that were looked at, and those behind them."""

    __slots__ = ("_lines", "_seen")

    def __init__(self, seen: list[str], lines: Iterator[str]) -> None:
        self._seen, self._lines = seen, lines

    def __iter__(self) -> Iterator[str]:
        yield from self._seen
        yield from self._lines

    def bounded(self) -> Iterator[str]:
        """Yield the same, of long lines the beginning."""
        yield from self._seen
        yield from raw_lines(self._lines)


def text_of(source: LogSource, *, max_chars: int) -> str:
    """Return the whole text, or its first *max_chars* characters."""
    if isinstance(source, str):
        return source[:max_chars]
    kept, length = [], 0
    for line in source:
        kept.append(line[: max_chars - length])
        length += len(kept[-1])
        if length >= max_chars:
            break
    return "".join(kept)


def clean_lines(source: LogSource, *, brackets: bool = True) -> Iterator[tuple[int, str, str]]:
    """Yield number (from 1), rank as the launcher tags it ("" where it does not), and text.

    Colours, carriage returns, time stamps and the launcher's tags are taken off.

    Args:
        source: Of what.
        brackets: Whether ``[3] `` before a line is a tag; it is not where the format itself
            writes such numbers.
    """
    for count, line in enumerate(raw_lines(source), start=1):
        text, tag = line, ""
        if "\x1b" in text:
            text = without_colour(text)
        if "\r" in text:  # a terminal shows what was written last
            text = text.rstrip("\r").rpartition("\r")[2]
        head = text[:9]
        if head[4:5] == "-" or head[5:6] == "-":
            text = _unstamped(text)
            head = text[:9]
        if "[" in head or ": " in head or "]<std" in text[:200]:
            tag, text = _untagged(text, brackets=brackets)
        yield count, tag, text


def without_colour(text: str) -> str:
    """Return *text* without the sequences that a terminal takes for colours and moves."""
    return _ANSI.sub("", text)


def _unstamped(text: str) -> str:
    stamp = _STAMP.match(text)
    return text[stamp.end() :] if stamp else text


def _untagged(text: str, *, brackets: bool) -> tuple[str, str]:
    match = _TAG.match(text)
    if match is None:
        return "", text
    if match["bracket"] is not None:
        return (match["bracket"], text[match.end() :]) if brackets else ("", text)
    return match["mpi"] or match["srun"], text[match.end() :]


def number(word: str, *, decimals: int = 2) -> float | None:
    """Return a number of 0 or more that a program printed; None when it is none.

    A comma is read as the locale means it: between groups of three digits it parts thousands,
    else it stands for the point. ``1,234`` is both; it has a point where the program prints
    three *decimals*.
    """
    try:
        value = float(word)
    except ValueError:
        if "," not in word:
            return None
        word = _without_comma(word, decimals=decimals)
        value = float(word) if word else -1.0
    return value if 0 <= value < MAX_VALUE and "_" not in word else None


def _without_comma(word: str, *, decimals: int) -> str:
    groups = word.split(",")
    if _THOUSANDS.fullmatch(word) and not (decimals == 3 and len(groups) == 2 and "." not in word):
        return word.replace(",", "")
    return word.replace(",", ".") if _DECIMAL_COMMA.fullmatch(word) else ""


def whole_number(word: str) -> int | None:
    """Return a whole number of 0 or more, with or without commas at the thousands."""
    if "," in word and _THOUSANDS.fullmatch(word):
        word = word.replace(",", "")
    return int(word) if len(word) <= 18 and word.isascii() and word.isdigit() else None
