"""Read a scenario from a file, from text, or from plain Python values."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.compose import compose
from netloom.spec.nodes import MalformedError, Node, Place, Problem, from_plain, plain
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
    ``catalog``, and ``job.model`` where it names a ``.json`` file. Paths in a dict stay as given.

    Raises:
        SpecError: it cannot be read or is wrong; the message lists every problem found, each
            with its line, field, value and remedy.
    """
    if isinstance(source, Mapping):
        return _from_mapping(source)
    name = os.fspath(source)
    scenario = parse(_read(name), name=name)
    return _anchored(scenario, Path(name).absolute().parent)


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
    place: Place | None = None
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


def _validated(root: Node, problems: Sequence[Problem], *, name: str) -> Scenario:
    if not isinstance(root.value, dict) or not root.value:
        empty = root.value in (None, {})
        found = "is empty" if empty else f"holds {root.written}"
        text = (
            f"{found}; a scenario has the keys 'cluster' and 'job' ('netloom example' prints one)"
        )
        raise refusal(name, [*problems, Problem(field="", text=text)])
    try:
        # In a file the unit stands beside the number, so only the names without units are keys.
        scenario = Scenario.model_validate(plain(root), by_alias=True, by_name=False)
    except ValidationError as error:
        raise refusal(name, [*problems, *explain(error, root, Scenario)]) from error
    if problems:
        raise refusal(name, problems)
    return scenario


def _anchored(scenario: Scenario, folder: Path) -> Scenario:
    if scenario.catalog is not None:
        scenario = scenario.model_copy(update={"catalog": str(folder / scenario.catalog)})
    if scenario.job.model.endswith(".json"):
        job = scenario.job.model_copy(update={"model": str(folder / scenario.job.model)})
        scenario = scenario.model_copy(update={"job": job})
    return scenario


def _read(name: str) -> str:
    try:
        # Non-blocking, so that a pipe nobody writes to is refused and not waited for.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check_file(name, os.fstat(descriptor))
            content = _head(descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if len(content) > MAX_FILE_BYTES:  # files such as those of /proc do not tell their size
        raise _too_large(name)
    return _decoded(name, content)


def _head(descriptor: int) -> bytes:
    """Return the whole content, or a little more than is allowed."""
    content = b""
    while len(content) <= MAX_FILE_BYTES and (chunk := os.read(descriptor, MAX_FILE_BYTES + 1)):
        content += chunk
    return content


def _check_file(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        message = f"{name}: {kind}; name a YAML or JSON file"
        raise SpecError(message)
    if status.st_size > MAX_FILE_BYTES:
        raise _too_large(name)


def _too_large(name: str) -> SpecError:
    return SpecError(f"{name}: larger than {MAX_FILE_BYTES} bytes; a scenario is a few kilobytes")


def _unreadable(name: str, error: Exception) -> SpecError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return SpecError(f"{name}: cannot be read ({reason}); check the path")


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        message = f"{name}:{line}: not UTF-8 text ({error.reason}); save the file as UTF-8"
        raise SpecError(message) from error
