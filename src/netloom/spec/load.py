"""Read a scenario from a file, from text, or from plain Python values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from netloom.errors import Problem, Where
from netloom.spec.anchor import anchored
from netloom.spec.compose import compose
from netloom.spec.files import read_text
from netloom.spec.nodes import (
    DocumentNode,
    MalformedError,
    TextPosition,
    from_plain,
    plain,
)
from netloom.spec.problems import explain, in_order, refusal
from netloom.spec.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["load", "located", "parse", "problems_of"]

MAX_FILE_BYTES: Final = 1 << 20
NO_FILE: Final = ""
_STEP: Final = re.compile(r"[^.\[\]]+")


def load(source: str | os.PathLike[str] | Mapping[str, object]) -> Scenario:
    """Return the scenario in a YAML or JSON file, or in a dict of plain values.

    Paths inside a file are relative to its folder; those of the scenario returned are absolute:
    ``catalog``, ``job.model`` where it names a ``.json`` file (in ``jobs`` too), and those in
    ``traffic``. Paths in
    a dict stay as given.

    Raises:
        SpecError: it cannot be read or is wrong; the message lists every problem found, each
            with its line, field, value and remedy.
    """
    if isinstance(source, Mapping):
        return _from_mapping(source)
    name = os.fspath(source)
    scenario = parse(_read(name), name=name)
    folder = Path(name).absolute().parent
    return anchored(scenario, lambda _, path: str(folder / path))


def parse(text: str, *, name: str) -> Scenario:
    """Return the scenario that *text*, YAML or JSON, describes; *name* opens the messages.

    Raises:
        SpecError: the text is wrong; it holds what :func:`problems_of` finds.
    """
    return _scenario(*_examined(text), name=name)


def problems_of(text: str, *, name: str = "scenario") -> tuple[Problem, ...]:
    """Return all that is wrong with the scenario in *text*, in its order; empty when it is right.

    A text that is not YAML ends at the first thing that is not.

    Args:
        text: YAML or JSON.
        name: What the places call it, such as its file.
    """
    return in_order(name, _examined(text)[1])


def located(path: str | os.PathLike[str], key: str) -> Where:
    """Return where *key* (``job.parallel.tensor``, ``jobs.0.nodes``) stands in a scenario file.

    A key that the file leaves out is found at the nearest one above it.
    """
    name = os.fspath(path)
    node, _ = compose(_read(name))
    place: TextPosition | None = None
    for step in _STEP.findall(key):
        child = node.child(step) or (node.child(int(step)) if step.isdecimal() else None)
        if child is None:
            break
        node, place = child, child.key_place or child.place
    if place is None:
        return Where(file=name, key=key)
    return Where(file=name, line=place.line, column=place.column, key=key)


def _from_mapping(source: Mapping[str, object]) -> Scenario:
    try:
        root = from_plain(source)
    except MalformedError as error:
        raise refusal(NO_FILE, [error.problem]) from error
    return _scenario(*_checked(root, []), name=NO_FILE)


def _examined(text: str) -> tuple[Scenario | None, list[Problem]]:
    """Return the scenario in *text* and what is wrong with it: one of the two is empty."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        place = Where(line=line)
        return None, [Problem(where=place, what="a NUL byte", remedy="this is not a text file")]
    try:
        root, problems = compose(text)
    except MalformedError as error:
        return None, [error.problem]
    return _checked(root, problems)


def _checked(
    root: DocumentNode, problems: Sequence[Problem]
) -> tuple[Scenario | None, list[Problem]]:
    if not isinstance(root.value, dict) or not root.value:
        return None, [*problems, _no_keys(root)]
    try:
        scenario = Scenario.from_file(plain(root))
    except ValidationError as error:
        return None, [*problems, *explain(error, root, Scenario)]
    return (None if problems else scenario), [*problems]


def _no_keys(root: DocumentNode) -> Problem:
    empty = root.value in (None, {})
    return Problem(
        what="is empty" if empty else f"holds {root.written}",
        remedy="a scenario has the keys 'cluster' and 'job' ('netloom example' prints one)",
    )


def _scenario(found: Scenario | None, problems: Sequence[Problem], *, name: str) -> Scenario:
    if found is None:
        raise refusal(name, problems)
    return found


def _read(name: str) -> str:
    return read_text(name, max_bytes=MAX_FILE_BYTES, wanted="a YAML or JSON file")
