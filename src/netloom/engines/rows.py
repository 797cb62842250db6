"""Rows of numbers read from text: plain ones by the core, others by who knows the format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.engines import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    # Line number and text to the numbers of its row, or nothing where it holds none.
    ReadLine = Callable[[int, str], tuple[int, ...] | None]
    # Columns to which of their rows are wrong.
    FindWrong = Callable[[list[NDArray[np.int64]]], NDArray[np.bool_]]

__all__ = ["read_rows"]


def read_rows(  # noqa: PLR0913  (what a format is)
    text: str,
    kinds: str,
    *,
    separator: str,
    first_line: int,
    read: ReadLine,
    wrong: FindWrong,
    most: int | None = None,
) -> NDArray[np.int64]:
    """Return the rows of *text* in order.

    Args:
        text: Lines of cells.
        kinds: As for :func:`netloom.engines.native.scan_rows`.
        separator: Likewise.
        first_line: Lines to leave out at the top.
        read: Reads a line that is not plain, or raises; and raises for every row that is *wrong*.
        wrong: Says which plain rows are.
        most: Rows after which reading stops; default: all.

    Raises:
        Exception: What *read* raises, for the first line that is wrong.
    """
    found = native.scan_rows(text, kinds, separator=separator, first_line=first_line)
    others = list(_others(found, text, first_line))
    count = len(found["line"])
    before = np.array([place for place, _, _ in others], dtype=np.int64)
    # Where each plain row stands among all: the others hold a row each, wherever there are both.
    rank = np.arange(count) + np.searchsorted(before, np.arange(count), side="right")
    last = count + len(others) if most is None else most
    bad = np.flatnonzero(wrong(found["columns"]))
    stop = min(last, int(rank[bad[0]])) if len(bad) else last
    rows: list[tuple[int, tuple[int, ...]]] = []
    for place, number, line in others:
        if place + len(rows) >= stop:
            break
        row = read(number, line)
        if row is not None:
            rows.append((place, row))
    if stop < last:
        number = int(found["line"][bad[0]])
        read(number, text.splitlines()[number - 1])
        raise AssertionError(number)  # it was wrong
    kept = int(np.searchsorted(rank, last))
    table = np.stack([column[:kept] for column in found["columns"]], axis=1)
    if not rows:
        return table
    return np.insert(table, [place for place, _ in rows], [row for _, row in rows], axis=0)


def _others(found: dict[str, Any], text: str, first_line: int) -> Iterator[tuple[int, int, str]]:
    """Yield the lines that the core did not read: rows before each, its number and itself."""
    if not found["is_plain"]:
        for number, line in enumerate(text.splitlines(), start=1):
            if number > first_line:
                yield 0, number, line
        return
    names = ("position", "line", "begin", "end")
    columns = (found[f"unread_{name}"].tolist() for name in names)
    for place, number, begin, end in zip(*columns, strict=True):
        yield place, number, text[begin:end]
