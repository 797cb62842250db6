"""The jobs of a server, in one SQLite file and a folder of results.

A job is on disk before it runs. A result is a file that appears whole, by renaming; only then is
its job ``done``. So a server that is killed at any moment finds, when it comes back, every result
that was finished, and of a job that still ran nothing but the word ``failed``.
"""

from __future__ import annotations

import fcntl
import json
import math
import secrets
import sqlite3
import threading
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import IO, TYPE_CHECKING, Any, Final

from netloom.app.jobs.job import JobLimits, JobRecord, JobRequest
from netloom.app.jobs.replays import replay_path
from netloom.errors import InfeasibleError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["MAX_WAITING", "JobTable"]

MAX_WAITING: Final = 100
TIDY_S: Final = 3600.0
LOST: Final = "the server ended while it ran; start it again"
REPLACED: Final = "replaced by a later one"
COLUMNS: Final = (
    "id, kind, text, options, by_name, replaces, limits, state, asked_s, began_s, ended_s, share, "
    "message, is_partial"
)
SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS job (number INTEGER PRIMARY KEY, {COLUMNS}, UNIQUE (id));
CREATE INDEX IF NOT EXISTS job_state ON job (state, number);
"""
APPLICATION: Final = 0x6E6C6A62  # "nljb": tells our files from those of others


class JobTable:
    """Jobs on disk; safe to use from several threads."""

    def __init__(self, folder: Path, *, now: Callable[[], float], keep_s: float = math.inf) -> None:
        """Open the table in *folder*, made where there is none, and settle what a kill left.

        Args:
            folder: Where jobs and results are.
            now: Seconds since 1970.
            keep_s: How long a job and its result are kept after it ended.

        Raises:
            OutputError: the folder cannot be written, is used by another server, or holds another
                program's file.
        """
        self.folder = folder
        self._now, self._keep_s = now, keep_s
        self._tidied_s = -math.inf
        self._lock = threading.RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "results").mkdir(exist_ok=True, mode=0o700)
            with ExitStack() as opened:
                self._alone = opened.enter_context(_locked(folder / "lock"))
                self._file = _opened(folder / "jobs.db")
                opened.pop_all()
        except (OSError, sqlite3.Error) as error:
            raise OutputError(
                file=str(folder), what=str(error), remedy="name another folder that can be written"
            ) from None
        self._settle()
        self._tidy()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._file.close()
            self._alone.close()

    def ask(self, request: JobRequest) -> JobRecord:
        """Write a request down and return it as a waiting job.

        Raises:
            InfeasibleError: too many are waiting.
        """
        self._tidy()
        with self._lock, self._file:
            if request.replaces:
                self._replace_waiting(request)
            if self._count("waiting") >= MAX_WAITING:
                raise InfeasibleError(
                    what=f"{MAX_WAITING} jobs are waiting", remedy="wait, or stop some"
                )
            job = JobRecord(
                id=secrets.token_hex(8), request=request, state="waiting", asked_s=self._now()
            )
            marks = ", ".join("?" * len(_row(job)))
            self._file.execute(f"INSERT INTO job ({COLUMNS}) VALUES ({marks})", _row(job))  # noqa: S608
        return job

    def begin_next(
        self, *, kinds: Sequence[str] = (), without: Sequence[str] = ()
    ) -> JobRecord | None:
        """Return the job that has waited longest, now running; None when none waits.

        Args:
            kinds: Only these; all where there are none.
            without: None of these.
        """
        among = f"AND kind IN ({_marks(kinds)})" if kinds else ""
        condition = f"state = 'waiting' {among} AND kind NOT IN ({_marks(without)})"
        with self._lock, self._file:
            rows = self._jobs(f"WHERE {condition} ORDER BY number LIMIT 1", *kinds, *without)
            if not rows:
                return None
            job = replace(rows[0], state="running", began_s=self._now())
            self._write(job)
        return job

    def end(self, job: JobRecord) -> JobRecord:
        """Write down that *job*, with its state and message, has ended now."""
        ended = replace(job, ended_s=self._now())
        with self._lock, self._file:
            self._write(ended)
        return ended

    def find(self, job_id: str) -> JobRecord | None:
        """Return the job of that name."""
        with self._lock:
            rows = self._jobs("WHERE id = ?", job_id)
        return rows[0] if rows else None

    def newest(self, *, after: str = "", limit: int = 100) -> Sequence[JobRecord]:
        """Return jobs, the newest first, those after (older than) the job named *after*."""
        with self._lock:
            if not after:
                return self._jobs("ORDER BY number DESC LIMIT ?", limit)
            older = "number < (SELECT number FROM job WHERE id = ?)"
            return self._jobs(f"WHERE {older} ORDER BY number DESC LIMIT ?", after, limit)

    def result_path(self, job_id: str) -> Path:
        """Return where the result of a job is or will be."""
        assert job_id.isalnum(), job_id
        return self.folder / "results" / f"{job_id}.json"

    def result(self, job_id: str) -> bytes | None:
        """Return what a job found, JSON; None where there is nothing."""
        path = self.result_path(job_id)
        return path.read_bytes() if path.is_file() else None

    def forget(self, *, older_than_s: float) -> int:
        """Remove jobs that ended before that time, and their results; return how many."""
        with self._lock, self._file:
            old = self._jobs("WHERE ended_s IS NOT NULL AND ended_s < ?", older_than_s)
            self._file.executemany("DELETE FROM job WHERE id = ?", [(one.id,) for one in old])
        for one in old:
            self.result_path(one.id).unlink(missing_ok=True)
            replay_path(self.result_path(one.id)).unlink(missing_ok=True)
        return len(old)

    def _tidy(self) -> None:
        """Forget what is older than is kept, once an hour at most."""
        if math.isfinite(self._keep_s) and self._now() - self._tidied_s >= TIDY_S:
            self._tidied_s = self._now()
            self.forget(older_than_s=self._now() - self._keep_s)

    def _settle(self) -> None:
        with self._lock, self._file:
            for job in self._jobs("WHERE state = 'running'"):
                done = self.result_path(job.id).is_file()
                ended = replace(job, ended_s=self._now())
                self._write(
                    replace(ended, state="done")
                    if done
                    else replace(ended, state="failed", message=LOST)
                )

    def _replace_waiting(self, request: JobRequest) -> None:
        theirs = "WHERE state = 'waiting' AND replaces = ? AND by_name = ?"
        for job in self._jobs(theirs, request.replaces, request.by):
            stopped = replace(job, state="stopped", message=REPLACED, ended_s=self._now())
            self._write(stopped)

    def _count(self, state: str) -> int:
        query = "SELECT COUNT(*) FROM job WHERE state = ?"
        return int(self._file.execute(query, (state,)).fetchone()[0])

    def _jobs(self, condition: str, *values: object) -> list[JobRecord]:
        query = f"SELECT {COLUMNS} FROM job {condition}"  # noqa: S608  (our own words)
        return [_job(row) for row in self._file.execute(query, values)]

    def _write(self, job: JobRecord) -> None:
        self._file.execute(
            "UPDATE job SET state = ?, began_s = ?, ended_s = ?, share = ?, message = ?, "
            "is_partial = ? WHERE id = ?",
            (
                *(job.state, job.began_s, job.ended_s, job.share, job.message, job.is_partial),
                job.id,
            ),
        )


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _locked(path: Path) -> IO[bytes]:
    """Return a file that one process alone can have open so; the system lets go when it ends."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        message = "another server keeps its jobs here"
        raise OSError(message) from None
    return file


def _opened(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path, check_same_thread=False)
    found = file.execute("PRAGMA application_id").fetchone()[0]
    tables = file.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if found != APPLICATION and tables:
        message = f"{path.name} is another program's file"
        raise OSError(message)
    file.execute(f"PRAGMA application_id = {APPLICATION}")
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = FULL")
    file.executescript(SCHEMA)
    return file


def _row(job: JobRecord) -> tuple[object, ...]:
    request = job.request
    return (
        *(job.id, request.kind, request.text, json.dumps(dict(request.options))),
        *(request.by, request.replaces, json.dumps(asdict(request.limits))),
        *(job.state, job.asked_s, job.began_s, job.ended_s, job.share, job.message),
        job.is_partial,
    )


def _job(row: tuple[Any, ...]) -> JobRecord:
    job_id, kind, text, options, by, replaces, limits, *rest = row
    state, asked_s, began_s, ended_s, share, message, is_partial = rest
    return JobRecord(
        id=job_id,
        request=JobRequest(
            kind=kind,
            text=text,
            options=json.loads(options),
            by=by,
            replaces=replaces,
            limits=JobLimits(**json.loads(limits)),
        ),
        state=state,
        asked_s=asked_s,
        began_s=began_s,
        ended_s=ended_s,
        share=share,
        message=message,
        is_partial=bool(is_partial),
    )
