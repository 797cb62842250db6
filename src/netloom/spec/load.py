"""Read a scenario from a file, from text, or from plain Python values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from netloom.errors import SpecError
from netloom.spec.compose import compose
from netloom.spec.files import read_text
from netloom.spec.nodes import MalformedError, Node, Place, Problem, from_plain, plain
from netloom.spec.problems import explain, refusal
from netloom.spec.scenario import Scenario
from netloom.spec.traffic import FlowFile, OpenLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.spec.scenario import Job
    from netloom.spec.traffic import Traffic

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
    if scenario.traffic is not None:
        traffic = tuple(_anchored_piece(piece, folder) for piece in scenario.traffic)
        scenario = scenario.model_copy(update={"traffic": traffic})
    if scenario.job_given is not None:
        scenario = scenario.model_copy(update={"job": _anchored_job(scenario.job, folder)})
    if scenario.jobs is not None:
        jobs = tuple(
            tenant.model_copy(update={"job": _anchored_job(tenant.job, folder)})
            for tenant in scenario.jobs
        )
        scenario = scenario.model_copy(update={"jobs": jobs})
    return scenario


def _anchored_job(job: Job, folder: Path) -> Job:
    if not job.model.endswith(".json"):
        return job
    return job.model_copy(update={"model": str(folder / job.model)})


def _anchored_piece(piece: Traffic, folder: Path) -> Traffic:
    """Return *piece* with the path it names, if any, relative to *folder* no more."""
    if isinstance(piece, FlowFile):
        return piece.model_copy(update={"file": str(folder / piece.file)})
    if isinstance(piece, OpenLoop) and Path(piece.distribution).suffix:
        return piece.model_copy(update={"distribution": str(folder / piece.distribution)})
    return piece


def _read(name: str) -> str:
    return read_text(name, max_bytes=MAX_FILE_BYTES, wanted="a YAML or JSON file")
