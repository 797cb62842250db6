"""Statements by name: read with their type, and sorted into taken and not taken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from netloom.errors import SpecError
from netloom.formats.training.recipe import RecipeStatement, StatementOutcome, Unstated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Statements", "WithoutEffect", "names_of"]

MAX_COUNT: Final = 2**40
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})


def names_of(text: str) -> frozenset[str]:
    """Return the words of *text*: a long list of names, written as such."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutEffect:
    """Names that change neither time nor memory of a step.

    Attributes:
        names: Whole names.
        prefixes: What such names begin with.
    """

    names: frozenset[str]
    prefixes: tuple[str, ...] = ()

    def holds(self, name: str) -> bool:
        """Return whether *name* is one of them."""
        return name in self.names or name.startswith(self.prefixes)


class Statements:
    """What a file states, by canonical name; of several of a name the last counts.

    Reading a statement marks it as taken for a key of the scenario; what is never read is sorted
    at the end.

    Args:
        statements: In the order of the file.
        file: What messages call the file.
    """

    def __init__(self, statements: Iterable[RecipeStatement], *, file: str) -> None:
        self.file = file
        self._by_name: dict[str, RecipeStatement] = {}
        self._repeated: list[StatementOutcome] = []
        self._keys: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._assumed: dict[str, Unstated] = {}
        self._extra: list[StatementOutcome] = []
        self._echoes: list[RecipeStatement] = []
        for one in statements:
            self._add(one)

    def _add(self, one: RecipeStatement) -> None:
        earlier = self._by_name.get(one.canonical)
        if earlier is not None and one.value in (None, earlier.value):
            self._echoes.append(one)  # the same again, or nothing said
            return
        if earlier is not None and earlier.value is not None:
            reason = f"given again on line {one.line}, which counts"
            self._repeated.append(_outcome(earlier, reason=reason))
        elif earlier is not None:
            self._echoes.append(earlier)
        self._by_name[one.canonical] = one

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def count(self, name: str, key: str, *, least: int = 1) -> int | None:
        """Return the whole number that *name* states; None when it is not stated or null."""
        found = self._value(name, key)
        if found is None:
            return None
        number = _whole(found)
        if number is None or not least <= number < MAX_COUNT:
            self.reject(name, f"is no whole number from {least}")
        return number

    def number(self, name: str, key: str) -> float | None:
        """Return the number that *name* states; None when it is not stated or null."""
        found = self._value(name, key)
        if found is None:
            return None
        try:
            number = float(str(found))
        except (ValueError, OverflowError):
            number = -1.0
        if not 0 <= number < MAX_COUNT:
            self.reject(name, "is no sensible number")
        return number

    def flag(self, name: str, key: str, *, default: bool = False) -> bool:
        """Return whether *name* is stated to be so; *default* when it is not stated."""
        found = self._value(name, key)
        if found is None:
            return default
        text = str(found).lower()
        if text not in _TRUE | _FALSE:
            self.reject(name, "is no truth value")
        return text in _TRUE

    def word(self, name: str, key: str, default: str = "") -> str:
        """Return the text that *name* states; *default* when it is not stated or null."""
        found = self._value(name, key)
        if found is None:
            return default
        return str(found[0]) if isinstance(found, tuple) and len(found) == 1 else str(found)

    def words(self, name: str, key: str) -> tuple[str, ...]:
        """Return the list that *name* states; a text is cut at blanks and commas."""
        found = self._value(name, key)
        if found is None:
            return ()
        if isinstance(found, (tuple, list)):
            found = " ".join(str(one) for one in found)
        return tuple(re.sub(r"[\[\](),'\"]", " ", str(found)).split())

    def plain(self, name: str, key: str) -> object:
        """Return the value that *name* states, as it stands; None when it is not stated."""
        return self._value(name, key)

    def texts(self) -> frozenset[str]:
        """Return the values that are text, those in lists among them."""
        values = [one.value for one in self._by_name.values()]
        lists = [part for value in values if isinstance(value, tuple) for part in value]
        return frozenset(str(value) for value in (*values, *lists))

    def peek(self, name: str) -> str:
        """Return the text of *name*'s value without taking it; empty when it is not stated."""
        return self._by_name[name].shown if name in self._by_name else ""

    def line_of(self, name: str) -> int:
        """Return the line of *name*; 0 when it is not stated."""
        return self._by_name[name].line if name in self._by_name else 0

    def refuse(self, name: str, reason: str) -> None:
        """Say that *name*, if it is stated, is not taken, and why."""
        if name in self._by_name:
            self._refused[name] = reason

    def assume(self, key: str, value: object, reason: str) -> None:
        """Say that the scenario has *value* at *key* though the file does not state it."""
        self._assumed[key] = Unstated(key=key, value=value, reason=reason)

    def add_not_taken(self, outcome: StatementOutcome) -> None:
        """Name something that was not taken and is no statement by name."""
        self._extra.append(outcome)

    def reject(self, name: str, what: str) -> NoReturn:
        """Raise the error of a statement whose value will not do."""
        one = self._by_name[name]
        raise SpecError(
            file=self.file,
            line=one.line,
            key=one.name,
            what=f"{one.shown!r} {what}",
            remedy="correct it",
        )

    def sorted(
        self,
        without_effect: WithoutEffect,
        unmodelled: Mapping[str, str],
        *,
        on_by_default: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        """Return ``taken``, ``without_effect``, ``not_taken`` and ``assumed`` of a recipe.

        What is stated to be off, or null, asks for nothing that the model would have to know.

        Args:
            without_effect: Names that may stay out.
            unmodelled: Names that matter, and why they are not taken.
            on_by_default: Names that are on when left out: off is what matters there.
        """
        taken: list[StatementOutcome] = []
        quiet: list[StatementOutcome] = []
        lost = [*self._repeated, *self._extra]
        for one in (*self._by_name.values(), *self._echoes):
            name = one.canonical
            asks = (one.value is not True) if name in on_by_default else bool(_said(one.value))
            if name in self._refused:
                lost.append(_outcome(one, reason=self._refused[name]))
            elif name in self._keys:
                taken.append(_outcome(one, key=self._keys[name]))
            elif without_effect.holds(name) or not asks:
                quiet.append(_outcome(one))
            else:
                reason = unmodelled.get(name, "not known here; it may matter")
                lost.append(_outcome(one, reason=reason))
        return {
            "taken": _in_order(taken),
            "without_effect": _in_order(quiet),
            "not_taken": _in_order(lost),
            "assumed": tuple(self._assumed.values()),
        }

    def _value(self, name: str, key: str) -> object:
        one = self._by_name.get(name)
        if one is None:
            return None
        if one.unexpanded:
            raise _unexpanded(one, self.file)
        self._keys.setdefault(name, key)
        return one.value


def _in_order(outcomes: Iterable[StatementOutcome]) -> tuple[StatementOutcome, ...]:
    return tuple(sorted(outcomes, key=lambda one: one.line))


def _said(value: object) -> object:
    """Return *value*, or nothing where it says that a thing is off."""
    return "" if str(value).lower() in {"false", "none", "null", "0"} else value


def _outcome(one: RecipeStatement, *, key: str = "", reason: str = "") -> StatementOutcome:
    return StatementOutcome(name=one.name, value=one.shown, line=one.line, key=key, reason=reason)


def _unexpanded(one: RecipeStatement, file: str) -> SpecError:
    variable = one.unexpanded.strip("${}")
    name = variable if variable.isidentifier() or variable.isdecimal() else ""
    remedy = f"give it: --set {name}=VALUE" if name else "write the value out"
    return SpecError(
        file=file,
        line=one.line,
        key=one.name,
        what=f"{one.unexpanded} cannot be expanded, the file does not say what it is",
        remedy=remedy,
    )


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if abs(value) < MAX_COUNT and value == int(value) else None
    text = str(value[0]) if isinstance(value, tuple) and len(value) == 1 else str(value)
    text = text.strip().replace("_", "")
    if len(text) > 25:  # digits: no count has as many
        return None
    try:
        return int(text)
    except ValueError:
        return _whole_float(text)


def _whole_float(text: str) -> int | None:
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return int(number) if abs(number) < MAX_COUNT and number == int(number) else None
