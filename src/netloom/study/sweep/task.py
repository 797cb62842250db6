"""One point of a sweep as a piece of work that any process can do."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from netloom.errors import NetloomError, SpecError
from netloom.study.sweep.release import file_digest, release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from netloom.study.sweep.question import SweepRequest

__all__ = ["Done", "Task", "TaskRunner", "answer", "canonical", "do"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to compute.

    Attributes:
        key: Names the task, and everything its answer depends on.
        files: Path and digest of each file that the scenario names.
        release: Of the netloom that must compute it.
    """

    key: str
    ask: Callable[[SweepRequest], dict[str, Any]]
    asked: SweepRequest
    files: tuple[tuple[str, str], ...]
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a task.

    Attributes:
        text: The answer as JSON; None when there is none.
        error: Why there is none.
    """

    key: str
    text: str | None = None
    error: str = ""


class TaskRunner(Protocol):
    """Computes tasks somewhere, several at a time; a context, so that nothing is left running."""

    @property
    def num_slots(self) -> int:
        """How many tasks it takes at a time; it may change."""
        ...

    def submit(self, task: Task) -> None:
        """Start a task; there is a free slot."""
        ...

    def wait(self, timeout_s: float | None) -> Sequence[Done]:
        """Return what is done: at least one, unless *timeout_s* pass or nothing is running.

        With nothing running it returns after *timeout_s*.
        """
        ...

    def __enter__(self) -> Self:
        """Start what the runner needs."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything that still runs."""
        ...


def do(task: Task) -> Done:
    """Return what became of *task*; an error in it is a value."""
    try:
        return Done(key=task.key, text=answer(task))
    except NetloomError as error:
        return Done(key=task.key, error=str(error))
    except Exception as error:  # noqa: BLE001  (one point must not end the others)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Done(key=task.key, error=f"this is a bug in netloom ({what}); please report it")


def answer(task: Task) -> str:
    """Return the answer of *task* as JSON.

    Raises:
        SpecError: this process would not compute what was asked: another netloom runs here, or
            a file of the scenario is another.
        NetloomError: the question has no answer.
    """
    if task.release != release():
        raise SpecError(
            what=f"netloom {release()} runs here, {task.release} asked",
            remedy="install the same everywhere",
        )
    for path, digest in task.files:
        if not Path(path).is_file() or file_digest(Path(path)) != digest:
            raise SpecError(
                file=str(path),
                what="is not here, or not the same as when the sweep began",
                remedy="copy it",
            )
    return _text(task.ask(task.asked), sort=False)  # the order of keys is the command's own


def canonical(value: object) -> str:
    """Return *value* as JSON in the one way that equal values are written.

    Numbers that JSON cannot hold (NaN and the infinities) become null.
    """
    return _text(value, sort=True)


def _text(value: object, *, sort: bool) -> str:
    return json.dumps(_plain(value), sort_keys=sort, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _plain(value.tolist())  # numpy's numbers and arrays
