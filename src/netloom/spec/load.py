"""Read a scenario from a file, from text, or from plain Python values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.anchor import anchored
from netloom.spec.compose import compose
from netloom.spec.files import read_text
from netloom.spec.nodes import (
    DocumentNode,
    MalformedError,
    Problem,
    TextPosition,
    from_plain,
    plain,
)
from netloom.spec.problems import explain, refusal
from netloom.spec.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["load", "locate", "parse"]

MAX_FILE_BYTES: Final = 1 << 20
NO_FILE: Final = ""


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
        SpecError: the text is wrong; the message lists every problem found.
    """
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        message = f"{name}:{line}: a NUL byte; this is not a text file"
        raise SpecError(message)
    try:
        root, problems = compose(text)
    except MalformedError as error:
        raise refusal(name, [error.problem]) from error
    return _validated(root, problems, name=name)


def locate(path: str | os.PathLike[str], field: str) -> str:
    """Return where *field* (``job.parallel.tensor``) stands in a scenario file: ``x.yaml:7:5``.

    A field that the file leaves out is found at the nearest one above it.
    """
    name = os.fspath(path)
    node, _ = compose(_read(name))
    place: TextPosition | None = None
    for key in field.split("."):
        child = node.child(key)
        if child is None:
            break
        node, place = child, child.key_place
    return name if place is None else f"{name}:{place.line}:{place.column}"


def _from_mapping(source: Mapping[str, object]) -> Scenario:
    try:
        root = from_plain(source)
    except MalformedError as error:
        raise refusal(NO_FILE, [error.problem]) from error
    return _validated(root, [], name=NO_FILE)


def _validated(root: DocumentNode, problems: Sequence[Problem], *, name: str) -> Scenario:
    if not isinstance(root.value, dict) or not root.value:
        empty = root.value in (None, {})
        found = "is empty" if empty else f"holds {root.written}"
        text = (
            f"{found}; a scenario has the keys 'cluster' and 'job' ('netloom example' prints one)"
        )
        raise refusal(name, [*problems, Problem(field="", text=text)])
    try:
        scenario = Scenario.from_file(plain(root))
    except ValidationError as error:
        raise refusal(name, [*problems, *explain(error, root, Scenario)]) from error
    if problems:
        raise refusal(name, problems)
    return scenario


def _read(name: str) -> str:
    return read_text(name, max_bytes=MAX_FILE_BYTES, wanted="a YAML or JSON file")
