"""The scenario a command works on, and where in its file an error belongs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from netloom.errors import NetloomError, OutputError, Problem, Where
from netloom.spec.example import BUILT_IN, example
from netloom.spec.load import load, located
from netloom.spec.scenario import Scenario

__all__ = ["scenario_at"]


@contextmanager
def scenario_at(path: Path | None, *, built_in: str = BUILT_IN) -> Iterator[Scenario]:
    """Give the scenario in the file at *path*, or the *built_in* example when none is given.

    What turns out to be wrong with it inside the block is told with file, line and column.
    """
    if path is None:
        yield example(built_in)
        return
    scenario = load(path)
    try:
        yield scenario
    except OutputError:
        raise  # not the scenario's fault
    except NetloomError as error:
        raise type(error).of(*(_placed(problem, path) for problem in error.problems)) from error


def _placed(problem: Problem, path: Path) -> Problem:
    """Return *problem* where its key stands in the file; an option's is not the file's."""
    if problem.where.option or problem.what.startswith("--"):
        return problem
    if problem.where.file:
        return problem.inside(Where(file=str(path)))
    return replace(problem, where=located(path, problem.where.key))
