"""Threads that hand the waiting jobs of a table to worker processes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from netloom.app.jobs.kind import checked_options, job_kind
from netloom.app.jobs.process import GRACE_S, NO_FILES, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.jobs.job import JobRecord, JobRequest
    from netloom.app.jobs.named_files import NamedFiles
    from netloom.app.jobs.table import JobTable

__all__ = ["JobPool"]

TOO_LONG: Final = "it took longer than {:g} s, which is the most for this user"
DIED: Final = "its process ended (signal or memory); start it again or ask for less"


@dataclass(slots=True)
class _Running:
    """The job that a worker is at."""

    job: JobRecord
    worker: WorkerProcess
    stopped_by: str = ""

    def stop(self, why: str) -> None:
        """Ask for the end of it, once."""
        if not self.stopped_by:
            self.stopped_by = why
            self.worker.stop()


class JobPool:
    """Runs the waiting jobs of *table*, each in a process that is kept for the next.

    Args:
        table: Where jobs wait and end.
        num_workers: How many run at a time.
        files: What scenarios may name.
        urgent: Kinds that wait for no others: one more worker runs these alone.
        urgent_files: What scenarios of these may name.
        on_change: Told of every job that began, went on or ended; called from other threads.
    """

    def __init__(
        self,
        table: JobTable,
        *,
        num_workers: int = 1,
        files: NamedFiles = NO_FILES,
        urgent: tuple[str, ...] = (),
        urgent_files: NamedFiles = NO_FILES,
        on_change: Callable[[JobRecord], None] = lambda _: None,
    ) -> None:
        self.table = table
        self._on_change = on_change
        self._wake = threading.Condition()
        self._closed = False
        self._running: dict[str, _Running] = {}
        lanes = [(partial(self.table.begin_next, without=urgent), files)] * num_workers
        if urgent:
            lanes = [*lanes, (partial(self.table.begin_next, kinds=urgent), urgent_files)]
        self._threads = [
            threading.Thread(target=self._work, args=lane, name=f"jobs-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, request: JobRequest) -> JobRecord:
        """Put a job in line.

        Raises:
            SpecError: there is no such kind, or an option is wrong.
            InfeasibleError: too many wait.
        """
        checked_options(job_kind(request.kind), request.options)
        job = self.table.ask(request)
        self._on_change(job)
        with self._wake:
            self._wake.notify_all()
        return job

    def find(self, job_id: str) -> JobRecord | None:
        """Return a job as it is now; of one that runs, with how far it is."""
        with self._wake:
            running = self._running.get(job_id)
        return running.job if running else self.table.find(job_id)

    def newest(self, *, after: str = "", limit: int = 100) -> list[JobRecord]:
        """Return jobs as they are now, the newest first; *after* names the last one known."""
        with self._wake:
            running = {number: one.job for number, one in self._running.items()}
        return [running.get(job.id, job) for job in self.table.newest(after=after, limit=limit)]

    def stop(self, job_id: str, *, by: str) -> bool:
        """Ask a job to stop; false where it has ended or is not there."""
        with self._wake:
            running = self._running.get(job_id)
        if running is not None:
            running.stop(f"stopped by {by}")
            return True
        job = self.table.find(job_id)
        if job is None or job.is_ended:
            return False
        self._on_change(self.table.end(replace(job, state="stopped", message=f"stopped by {by}")))
        return True

    def close(self) -> None:
        """End all processes; jobs that ran are stopped, those that wait go on waiting."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
            running = list(self._running.values())
        for one in running:
            one.stop("the server was stopped")
        for thread in self._threads:
            thread.join(timeout=3 * GRACE_S)

    def _work(self, begin_next: Callable[[], JobRecord | None], files: NamedFiles) -> None:
        worker: WorkerProcess | None = None
        while (job := self._next(begin_next)) is not None:
            if worker is not None and not worker.is_alive:
                worker.end()
                worker = None
            worker = worker or WorkerProcess(files)
            self._run(job, worker)
        if worker is not None:
            worker.end()

    def _next(self, begin_next: Callable[[], JobRecord | None]) -> JobRecord | None:
        with self._wake:
            while not self._closed:
                if (job := begin_next()) is not None:
                    return job
                self._wake.wait(timeout=1.0)
        return None

    def _run(self, job: JobRecord, worker: WorkerProcess) -> None:
        running = _Running(job=job, worker=worker)
        with self._wake:
            self._running[job.id] = running
        self._on_change(job)
        limit_s = job.request.limits.time_s
        if limit_s is not None:
            worker.later(limit_s, lambda: running.stop(TOO_LONG.format(limit_s)))

        def on_progress(done: int, total: int) -> None:
            running.job = replace(running.job, share=done / total if total else None)
            self._on_change(running.job)

        result = self.table.result_path(job.id)
        said = worker.run(job.request, result, on_progress=on_progress)
        ended = self.table.end(_ended(running, said))
        with self._wake:
            del self._running[job.id]
        self._on_change(ended)


def _ended(running: _Running, said: dict[str, Any] | None) -> JobRecord:
    """Return the job with the state that it ends in."""
    if said is None:
        if running.stopped_by:
            return replace(running.job, state="stopped", message=running.stopped_by)
        return replace(running.job, state="failed", message=DIED)
    message = said.get("message", "") or (running.stopped_by if said["ended"] == "stopped" else "")
    share = 1.0 if said["ended"] == "done" else running.job.share
    return replace(
        running.job,
        state=said["ended"],
        message=message,
        is_partial=bool(said.get("partial")),
        share=share,
    )
