"""Conditions on a result.

Such as ``step_time_s>6``, ``technologies[rocev2-400g].goodput<0.9`` or ``findings.count>0``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, Final

from netloom.errors import SpecError

__all__ = ["ResultCondition", "children", "parse_condition"]

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM: Final = re.compile(r"\s*([^<>=!]+?)\s*(>=|<=|==|!=|>|<)\s*(\S.*?)\s*")
_STEP: Final = re.compile(r"(?:^|\.)([^.\[\]]+)|\[([^\[\]]+)\]")
_WORDS: Final = {"true": True, "false": False, "null": None}
# What tells the objects of a list apart, in this order.
_NAMES: Final = (
    "technology",
    "field",
    "name",
    "job",
    "part",
    "suite",
    "how",
    "link",
    "topology",
    "command",
    "kind",
)
OPTION: Final = "--fail-if"
COUNT: Final = "count"  # of a list: how many are in it


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCondition:
    """A field of a result compared with a value.

    Attributes:
        text: As it was written.
        path: Keys, and in lists names or numbers.
        sign: One of ``> >= < <= == !=``.
        value: What the field is compared with.
    """

    text: str
    path: tuple[str, ...]
    sign: str
    value: float | str | bool | None

    def holds(self, result: Mapping[str, Any]) -> bool:
        """Return whether it holds; of a number that is not known (null), ``>`` and ``<`` do.

        Raises:
            SpecError: there is no such field, or it cannot be compared so.
        """
        found = self.field(result)
        if self.sign in ("==", "!="):
            return _OPERATORS[self.sign](found, self.value)
        if found is None:
            return True  # a limit that cannot be checked is not kept
        if type(found) is not int and type(found) is not float:
            raise self._error(what="the field holds no number", remedy="use == or !=")
        return _OPERATORS[self.sign](found, self.value)

    def field(self, result: Mapping[str, Any]) -> Any:
        """Return the value of the field.

        Raises:
            SpecError: there is none; the message lists those that there are.
        """
        at: Any = result
        for step in self.path:
            known = children(at)
            if step == COUNT and isinstance(at, list) and step not in known:
                at = len(at)
                continue
            if step not in known:
                names = ", ".join(known) or "no field"
                raise self._error(what=f"there is no {step!r}", remedy=f"there is {names}")
            at = known[step]
        if isinstance(at, (Mapping, list)):
            names = ", ".join(children(at))
            raise self._error(what="that is not one value", remedy=f"name one in it: {names}")
        return at

    def _error(self, *, what: str, remedy: str) -> SpecError:
        return SpecError(option=OPTION, what=f"{self.text!r}: {what}", remedy=remedy)


def parse_condition(text: str) -> ResultCondition:
    """Return the condition that *text* writes.

    Raises:
        SpecError: it writes none.
    """
    match = _FORM.fullmatch(text)
    path = _path(match[1]) if match else ()
    if match is None or not path:
        remedy = "write such as 'step_time_s>6'"
        raise SpecError(option=OPTION, what=f"{text!r} is no condition", remedy=remedy)
    value = _value(match[3])
    is_number = isinstance(value, float) and not isnan(value)  # nothing is over or under NaN
    if match[2] not in ("==", "!=") and not is_number:
        what = f"{text!r}: {match[3]!r} is no number"
        raise SpecError(option=OPTION, what=what, remedy="use == or != with words")
    return ResultCondition(text=text, path=path, sign=match[2], value=value)


def _path(text: str) -> tuple[str, ...]:
    steps = list(_STEP.finditer(text))
    whole = "".join(step[0] for step in steps) == text
    return tuple(step[1] or step[2] for step in steps) if whole else ()


def _value(text: str) -> float | str | bool | None:
    if text.casefold() in _WORDS:
        return _WORDS[text.casefold()]
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def children(value: object) -> dict[str, Any]:
    """Return what stands in an object by key, in a list by name and by number."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if not isinstance(value, list):
        return {}
    named = {name: item for item in reversed(value) if (name := _name(item))}
    return dict(reversed(named.items())) | {str(at): item for at, item in enumerate(value)}


def _name(item: object) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((str(item[key]) for key in _NAMES if isinstance(item.get(key), str)), "")
