"""Which branches of a script are followed: those whose conditions the script itself decides."""

from __future__ import annotations

import fnmatch
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ControlFlow", "FlowState", "condition_value"]

MAX_NESTING: Final = 1000
_ENDS: Final = {"[": "]", "[[": "]]"}
_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}

FlowState = Literal["followed", "unsure", "passed"]


@dataclass(slots=True)
class _FlowBlock:
    """A block of commands, and for ``if`` what its conditions came to so far."""

    state: FlowState
    taken: bool | None = False  # whether a branch was; None where that is not known
    collecting: bool = False
    value: bool | None = True
    connector: str = ""


class ControlFlow:
    """Keeps track of the blocks that a script is in."""

    def __init__(self) -> None:
        self._blocks: list[_FlowBlock] = []

    @property
    def state(self) -> FlowState:
        """Whether commands here are run, not run, or that cannot be said."""
        states = {block.state for block in self._blocks}
        return "passed" if "passed" in states else "unsure" if "unsure" in states else "followed"

    @property
    def collecting(self) -> bool:
        """Whether commands here are conditions."""
        return bool(self._blocks) and self._blocks[-1].collecting

    def open(self, state: FlowState) -> None:
        """Begin a loop, a choice or a group."""
        if len(self._blocks) < MAX_NESTING:
            self._blocks.append(_FlowBlock(state))

    def open_if(self) -> None:
        """Begin an ``if``; conditions follow."""
        if len(self._blocks) < MAX_NESTING:
            self._blocks.append(_FlowBlock("followed", collecting=True))

    def add_condition(self, value: bool | None, connector: str) -> None:  # noqa: FBT001  (a truth value)
        """Add what a condition comes to; *connector* stands behind it."""
        block = self._blocks[-1]
        if block.connector == "||":
            block.value = _either(block.value, value)
        elif block.connector == "&&":
            block.value = _both(block.value, value)
        else:
            block.value = value
        block.connector = connector

    def then(self) -> None:
        """End the conditions of a branch."""
        if not self.collecting:
            return
        block = self._blocks[-1]
        block.collecting = False
        if block.taken is True or block.value is False:
            block.state = "passed"
        elif block.taken is None or block.value is None:
            block.state, block.taken = "unsure", None
        else:
            block.state, block.taken = "followed", True

    def elif_(self) -> None:
        """Begin another branch with conditions of its own."""
        if self._blocks:
            block = self._blocks[-1]
            block.state, block.collecting, block.connector = "followed", True, ""

    def else_(self) -> None:
        """Begin the branch that is left."""
        if self._blocks:
            block = self._blocks[-1]
            states: dict[bool | None, FlowState] = {True: "passed", False: "followed"}
            block.state = states.get(block.taken, "unsure")

    def close(self) -> None:
        """End the innermost block."""
        if self._blocks:
            self._blocks.pop()


def condition_value(words: Sequence[tuple[str, bool]]) -> bool | None:
    """Return what a test such as ``[ "$A" = b ]`` comes to; None when that cannot be said.

    Args:
        words: The words, each with whether all of it is known.
    """
    first, last = (words[0][0], words[-1][0]) if words else ("", "")
    if _ENDS.get(first) == last:
        words = words[1:-1]
    elif first == "test":
        words = words[1:]
    else:
        return {"true": True, "false": False}.get(first)
    if not all(known for _, known in words):
        return None
    return _decided([text for text, _ in words])


def _decided(words: list[str]) -> bool | None:
    if words and words[0] == "!":
        inner = _decided(words[1:])
        return None if inner is None else not inner
    if len(words) == 1:
        return bool(words[0])
    if len(words) == 2 and words[0] in {"-n", "-z"}:
        return bool(words[1]) == (words[0] == "-n")
    return _compared(*words) if len(words) == 3 else None


def _compared(left: str, sign: str, right: str) -> bool | None:
    if sign in {"=", "=="}:
        return fnmatch.fnmatchcase(left, right)
    if sign == "!=":
        return not fnmatch.fnmatchcase(left, right)
    if sign in _NUMBERS and left.isdecimal() and right.isdecimal() and len(left + right) < 40:
        return _NUMBERS[sign](int(left), int(right))
    return None


def _either(left: bool | None, right: bool | None) -> bool | None:  # noqa: FBT001
    return True if True in (left, right) else None if None in (left, right) else False


def _both(left: bool | None, right: bool | None) -> bool | None:  # noqa: FBT001
    return False if False in (left, right) else None if None in (left, right) else True
