"""A document as a tree of nodes that remember where they stand in the file."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, SupportsIndex, TypeAlias

from netloom.errors import Problem, Where

__all__ = [
    "DocumentNode",
    "MalformedError",
    "TextPosition",
    "below",
    "from_plain",
    "height",
    "plain",
    "problem_at",
    "shorten",
    "shown_key",
    "too_deep",
    "where_of",
]

MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 25
_MAX_SHOWN: Final = 60

Scalar: TypeAlias = bool | int | float | str | None
Plain: TypeAlias = "Scalar | tuple[Plain, ...] | dict[str, Plain]"


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A line and a column, both counted from 1."""

    line: int
    column: int


def problem_at(place: TextPosition | None, key: str, message: str) -> Problem:
    """Return the problem that *message* states of the value at *key*; empty for the document.

    Args:
        place: Where it stands in the file, when it came from one.
        key: The path of keys to it, such as ``job.training.global_batch``.
        message: What is wrong, and behind the last semicolon the remedy.
    """
    return Problem.of_message(message, where=where_of(place, key))


def where_of(place: TextPosition | None, key: str) -> Where:
    """Return the *place* of the value at *key*, in a file that is not named yet."""
    line, column = (place.line, place.column) if place else (0, 0)
    return Where(line=line, column=column, key=key)


class MalformedError(Exception):
    """The document cannot be read any further; carries the one problem that stopped it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentNode:
    """A value of the document.

    Attributes:
        value: A scalar, the items of a list, or the entries of a mapping.
        written: The value as the file has it, short enough for a message.
        place: Where the value starts.
        key_place: Where its key starts, for the entry of a mapping.
    """

    value: Scalar | tuple[DocumentNode, ...] | dict[str, DocumentNode]
    written: str
    place: TextPosition | None = None
    key_place: TextPosition | None = None

    def child(self, step: str | int) -> DocumentNode | None:
        """Return the entry or item *step*; None when there is none."""
        if isinstance(self.value, dict) and isinstance(step, str):
            return self.value.get(step)
        if isinstance(self.value, tuple) and isinstance(step, int) and step < len(self.value):
            return self.value[step]
        return None


def plain(node: DocumentNode) -> Plain:
    """Return the value of *node* without places; lists become tuples."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, tuple):
        return tuple(plain(item) for item in node.value)
    return node.value


def from_plain(value: object, *, field: str = "", depth: int = 0) -> DocumentNode:
    """Return a Python value of dicts, lists and scalars as a tree without places.

    Raises:
        MalformedError: it is nested too deep, or holds something a file could not.
    """
    if depth > MAX_DEPTH:
        raise MalformedError(too_deep(None))
    if isinstance(value, Mapping):
        entries = {
            _own_key(key, field): from_plain(child, field=below(field, str(key)), depth=depth + 1)
            for key, child in value.items()
        }
        return DocumentNode(value=entries, written="a mapping")
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = [
            from_plain(item, field=f"{field}[{index}]", depth=depth + 1)
            for index, item in enumerate(value)
        ]
        return DocumentNode(value=tuple(items), written="a list")
    if value is None or isinstance(value, (bool, int, float, str)):
        return DocumentNode(value=value, written=_written(value))
    if isinstance(value, SupportsIndex):  # numpy's integers
        return DocumentNode(value=operator.index(value), written=_written(operator.index(value)))
    text = (
        f"a Python {type(value).__name__} is not a value a scenario can hold; give text or a number"
    )
    raise MalformedError(problem_at(None, field, text))


def _own_key(key: object, field: str) -> str:
    if isinstance(key, str):
        return key
    text = f"the key {shorten(repr(key))} is not text; keys are names"
    raise MalformedError(problem_at(None, field, text))


def _written(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    # An int of many digits has no repr: Python refuses beyond 4,300.
    if isinstance(value, int) and value.bit_length() > 4 * MAX_DIGITS:
        return "a very long number"
    return shorten(repr(value))


def shorten(text: str) -> str:
    """Return *text*, cut to what fits in a message."""
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."


def shown_key(key: str) -> str:
    """Return *key* as a message can show it on one line."""
    return shorten(key if key.isprintable() else repr(key))


def below(field: str, key: str) -> str:
    """Return the path of the entry *key* in the mapping at *field*."""
    return f"{field}.{shown_key(key)}" if field else shown_key(key)


def height(node: DocumentNode) -> int:
    """Return how many levels lie below *node*."""
    if not isinstance(node.value, (dict, tuple)):
        return 0
    children = node.value.values() if isinstance(node.value, dict) else node.value
    return max((1 + height(child) for child in children), default=0)


def too_deep(place: TextPosition | None) -> Problem:
    """Return the problem of a document nested too deep."""
    text = f"nested deeper than {MAX_DEPTH} levels; a scenario needs no more than 6"
    return problem_at(place, "", text)
