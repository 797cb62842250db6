"""A command as a job: its options as plain values, and how it is run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from netloom.commands import COMMANDS, command_named
from netloom.errors import Problem, SpecError, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.results.progress import OnProgress
    from netloom.spec.scenario import Scenario

__all__ = [
    "JobFrames",
    "JobKind",
    "JobOptions",
    "JsonResult",
    "checked_options",
    "job_kind",
    "job_kinds",
]

MAX_PROBLEMS: Final = 20
PAGE_KINDS: Final = {  # what routes ask by themselves; no page names them
    "layout": "netloom.app.jobs.page_kinds:LAYOUT",
    "heal-plan": "netloom.app.jobs.heal_kinds:HEAL_PLAN",
    "heal-apply": "netloom.app.jobs.heal_kinds:HEAL_APPLY",
    "heal-undo": "netloom.app.jobs.heal_kinds:HEAL_UNDO",
}


class JobOptions(BaseModel):
    """Options of a kind of job; unknown ones and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class JsonResult(Protocol):
    """What every command returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys of the command."""


class JobFrames(Protocol):
    """What a page can replay."""

    def frames(self) -> bytes:
        """Return a byte a cell, frame by frame, of one quantity after the other."""

    def to_json(self) -> dict[str, Any]:
        """Return what the frames are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """How a command is run as a job.

    Attributes:
        options: What may be set.
        run: Path of what gives the command's result, from a scenario, options and progress. Only
            the process that runs it imports it: a server checks options alone.
        keeps_partial: Whether it ends by itself, with what it has, when progress answers true.
        touches_fabric: Whether it may change a network; such jobs are for operators.
        frames: Path of what gives the frames that a page can replay of the result; empty for none.
    """

    options: type[JobOptions]
    run: str
    keeps_partial: bool = False
    touches_fabric: bool = False
    frames: str = ""

    def result(self, scenario: Scenario, options: JobOptions, progress: OnProgress) -> JsonResult:
        """Run the command."""
        found: JsonResult = _at(self.run)(scenario, options, progress)
        return found

    def frames_of(self, result: JsonResult) -> JobFrames | None:
        """Return what a page can replay; None where there is nothing."""
        found: JobFrames | None = _at(self.frames)(result) if self.frames else None
        return found


def job_kinds() -> tuple[str, ...]:
    """Return the commands that can run as jobs, in the order of the table of commands."""
    return tuple(command.name for command in COMMANDS if command.job)


def job_kind(name: str) -> JobKind:
    """Return the kind of that name.

    Raises:
        SpecError: no command of that name runs as a job.
    """
    command = command_named(name)
    path = PAGE_KINDS.get(name, "") if command is None else command.job
    if not path:
        raise SpecError(
            key="kind", what=f"no job is called {name!r}", remedy=f"use {', '.join(job_kinds())}"
        )
    found: JobKind = _at(path)
    return found


def _at(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def checked_options(kind: JobKind, options: Mapping[str, Any]) -> JobOptions:
    """Return *options* as the kind has them.

    Raises:
        SpecError: one is unknown or of another type; each by name.
    """
    try:
        return kind.options.model_validate_json(json.dumps(dict(options)))
    except ValidationError as error:
        raise SpecError.of(
            *(
                Problem(
                    where=Where(key=".".join(["options", *map(str, one["loc"])])),
                    what=one["msg"],
                    remedy=f"known options: {', '.join(kind.options.model_fields) or 'none'}",
                )
                for one in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
            )
        ) from None
