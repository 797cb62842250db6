"""The exit codes, in one table; docs/exit_codes.md shows it."""

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

    OK = 0, "Done."
    VERDICT = (
        1,
        (
            "Done, and the answer is no: a suite is over its bound, a point of a sweep failed, "
            "a cable is not as designed, a deployment breaks a rule, "
            "healing did not help, --fail-if holds."
        ),
    )
    USER = 2, "Not done; the message on standard error says what to change."
    PARTIAL = 3, "A simulation was ended by Ctrl-C; what it has so far was printed."
    BUG = 70, "A bug in netloom (EX_SOFTWARE of sysexits.h); please report it."
    INTERRUPTED = 130, "Ctrl-C (128 + SIGINT)."
    PIPE = 141, "The reader of the output went away (128 + SIGPIPE)."
