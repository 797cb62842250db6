"""Answers at once: a warm process that is asked one short question after the other."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netloom.app.jobs.kind import checked_options, job_kind
from netloom.app.jobs.process import NO_FILES, WorkerProcess
from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.app.jobs.job import JobRequest
    from netloom.app.jobs.named_files import NamedFiles

__all__ = ["QueueFullError", "QuickAnswers"]

MAX_OF_A_USER: Final = 4
MAX_WAITING: Final = 16  # of the 40 threads that a server has for all that waits
LOOK_S: Final = 0.05  # how often one that waits sees whether its asker has gone


class QueueFullError(LabError):
    """Too many questions wait for an answer."""

    def __init__(self) -> None:
        super().__init__(what="too many questions wait for an answer", remedy="ask again")


class QuickAnswers:
    """One worker process for what takes milliseconds; nothing is kept.

    Args:
        files: What scenarios may name.
    """

    def __init__(self, files: NamedFiles = NO_FILES) -> None:
        self._files = files
        self._waiting: Counter[str] = Counter()
        self._count = threading.Lock()
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="netloom-")
        self._worker: WorkerProcess | None = None

    def ask(
        self, request: JobRequest, *, is_gone: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Return the command's envelope: its result, or its error.

        Args:
            request: What is asked.
            is_gone: Whether its asker has gone: the question leaves the queue.

        Raises:
            SpecError: there is no such kind, or an option is wrong.
            QueueFullError: too many wait for an answer.
            LabError: it took too long, its process died, or its asker has gone.
        """
        checked_options(job_kind(request.kind), request.options)
        with self._queued(request.by), self._turn(is_gone):
            return self._answer(request)

    @contextmanager
    def _queued(self, user: str) -> Iterator[None]:
        """Count who waits: slow questions of one user must not take the threads of a server."""
        with self._count:
            if self._waiting[user] >= MAX_OF_A_USER or self._waiting.total() >= MAX_WAITING:
                raise QueueFullError
            self._waiting[user] += 1
        try:
            yield
        finally:
            with self._count:
                self._waiting[user] -= 1
                self._waiting += Counter()  # forgets users with none

    @contextmanager
    def _turn(self, is_gone: Callable[[], bool]) -> Iterator[None]:
        """Wait for the process: a page that moved on must not keep its next question out."""
        while not self._lock.acquire(timeout=LOOK_S):
            if is_gone():
                raise LabError(what="its asker has gone")
        try:
            yield
        finally:
            self._lock.release()

    def _answer(self, request: JobRequest) -> dict[str, Any]:
        worker = self._ready()
        path = Path(self._folder.name) / "answer.json"
        path.unlink(missing_ok=True)
        if request.limits.time_s is not None:
            worker.later(request.limits.time_s, worker.stop)
        said = worker.run(request, path)
        if said is not None and said["ended"] == "done":
            found: dict[str, Any] = json.loads(path.read_bytes())
            return found
        if said is not None and "error" in said:
            return dict(said["error"])
        raise LabError(what=f"{request.kind} did not end in time", remedy="run it as a job")

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._worker is not None:
                self._worker.end()
            self._folder.cleanup()

    def _ready(self) -> WorkerProcess:
        if self._worker is not None and not self._worker.is_alive:
            self._worker.end()
            self._worker = None
        self._worker = self._worker or WorkerProcess(self._files)
        return self._worker
