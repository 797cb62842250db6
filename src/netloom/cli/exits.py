"""The exit codes, in one table; docs/exit-codes.md shows it."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

__all__ = ["Exit"]


class Exit(IntEnum):
    """How a command ends, each number with what it means."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Make a number that knows its meaning."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    OK = 0, "the command did what was asked"
    VERDICT = (
        1,
        (
            "the answer is no: a validation over its bound, cables that differ from the design, "
            "a rule that a deployment breaks, an act that did not help, a plan that is refused or "
            "stale, a point of a sweep that failed, a condition of `--fail-if` that holds"
        ),
    )
    USER = (
        2,
        (
            "the input can be fixed: wrong file, option or value, a part that does not exist, too "
            "little memory or disk; the message says where and how"
        ),
    )
    PARTIAL = 3, "`simulate` was interrupted; the results so far were printed, marked partial"
    BUG = 70, "a defect of netloom (`EX_SOFTWARE` of sysexits.h)"
    INTERRUPTED = 130, "Ctrl-C"
    PIPE = 141, "the reader of the output went away, such as `head`"
