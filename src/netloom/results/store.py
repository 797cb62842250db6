"""Answers on disk: one row for each finished question, safe against being killed at any time.

SQLite in WAL mode. A row is written in one transaction, so that it is there whole or not at
all. Several processes of one machine may use a store at the same time: who computes a key
claims it first, and a claim holds as long as the claimant lives, which an advisory lock on a
file beside the store proves without any clock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self

from netloom.errors import OutputError
from netloom.results.sqlite_file import SqliteFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

__all__ = ["AnswerStore", "Claim", "Record"]

APPLICATION_ID: Final = 0x6E6C6F6D  # "nlom", in the file's header
FORMAT: Final = 1
BUSY_TIMEOUT_S: Final = 60.0
_MAX_SWITCHES: Final = 100
_CHUNK: Final = 500  # keys in one statement; SQLite takes 999 in its oldest builds

_SCHEMA: Final = (
    """CREATE TABLE results (
        key TEXT PRIMARY KEY,
        question TEXT NOT NULL,
        seed INTEGER,
        asked TEXT NOT NULL,
        answer TEXT NOT NULL,
        attempts INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE claims (
        key TEXT PRIMARY KEY,
        driver TEXT NOT NULL,
        attempts INTEGER NOT NULL
    ) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A finished question.

    Attributes:
        key: The SHA-256 of *asked*.
        asked: Everything that the answer depends on, as JSON.
        answer: As JSON.
    """

    key: str
    question: str
    seed: int | None
    asked: str
    answer: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What came of wanting to compute a key.

    Attributes:
        state: ``mine`` to compute; ``busy``, another process computes it; ``done`` already.
        answer: When done, as JSON.
    """

    state: Literal["mine", "busy", "done"]
    answer: str = ""


class AnswerStore:
    """A file of answers.

    Raises:
        OutputError: the file cannot be used: no store, no room, no permission.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._driver = secrets.token_hex(8)
        self._alive: int | None = None
        self._file = SqliteFile(path, wrong="cannot be used as a store", timeout=BUSY_TIMEOUT_S)
        self._database = self._file.connection
        try:
            with self._file.explained():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def find(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the answers that there are, by key."""
        wanted = list(keys)
        found: dict[str, str] = {}
        with self._file.explained():
            for start in range(0, len(wanted), _CHUNK):
                chunk = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                query = f"SELECT key, answer FROM results WHERE key IN ({marks})"  # noqa: S608
                found.update(self._database.execute(query, chunk))
        return found

    def claim(self, key: str) -> Claim:
        """Take *key* to compute it, unless it is done or another living driver has it."""
        self._show_life()
        with self._file.transaction() as database:
            row = database.execute("SELECT answer FROM results WHERE key = ?", [key]).fetchone()
            if row is not None:
                return Claim("done", row[0])
            row = database.execute("SELECT driver FROM claims WHERE key = ?", [key]).fetchone()
            if row is not None and row[0] != self._driver and self._lives(row[0]):
                return Claim("busy")
            database.execute(
                "INSERT INTO claims VALUES (?, ?, 1) ON CONFLICT (key) "
                "DO UPDATE SET driver = excluded.driver, attempts = attempts + 1",
                [key, self._driver],
            )
        return Claim("mine")

    def finish(self, record: Record) -> None:
        """Keep an answer; it is on the disk when this returns."""
        with self._file.transaction() as database:
            database.execute(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?, "
                "COALESCE((SELECT attempts FROM claims WHERE key = ?), 1))",
                [
                    record.key,
                    record.question,
                    record.seed,
                    record.asked,
                    record.answer,
                    record.key,
                ],
            )
            database.execute("DELETE FROM claims WHERE key = ?", [record.key])

    def release(self, key: str) -> None:
        """Give back a claim without an answer; how often it was tried is remembered."""
        with self._file.transaction() as database:
            database.execute(
                "UPDATE claims SET driver = '' WHERE key = ? AND driver = ?", [key, self._driver]
            )

    def attempts(self) -> dict[str, int]:
        """Return how often each key was handed out to be computed, finished or not."""
        query = "SELECT key, attempts FROM results UNION ALL SELECT key, attempts FROM claims"
        with self._file.explained():
            return dict(self._database.execute(query))

    def close(self) -> None:
        """Close the file and give back all claims."""
        try:
            if self._alive is not None:
                with self._file.transaction() as database:
                    database.execute(
                        "UPDATE claims SET driver = '' WHERE driver = ?", [self._driver]
                    )
        finally:
            self._database.close()
            if self._alive is not None:
                self._life_file(self._driver).unlink(missing_ok=True)
                os.close(self._alive)
                self._alive = None

    def _prepare(self) -> None:
        """Make the tables, or make sure that the file is a store."""
        self._file.prepare(
            _SCHEMA,
            application_id=APPLICATION_ID,
            version=FORMAT,
            other="is no store of this netloom",
        )
        if self._write_ahead() != "wal":
            raise OutputError(
                file=str(self._file.path),
                what="this disk cannot hold a store",
                remedy="name a file on a local one",
            )
        # A commit is on the disk when it returns, power cuts included.
        self._database.execute("PRAGMA synchronous = FULL")

    def _write_ahead(self) -> str:
        """Switch to WAL and return the mode that the file is in then."""
        for _ in range(_MAX_SWITCHES):
            # SQLite does not wait here for others that open the new file: it fails at once.
            with contextlib.suppress(sqlite3.OperationalError):
                mode: str = self._database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                return mode
            with self._file.transaction():  # waits its turn
                pass
        return "locked"

    def _show_life(self) -> None:
        """Hold a lock for as long as this process lives, however it ends."""
        if self._alive is None:
            with self._file.explained():
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._alive = os.open(self._life_file(self._driver), flags, 0o644)
                fcntl.flock(self._alive, fcntl.LOCK_EX)

    def _lives(self, driver: str) -> bool:
        try:
            handle = os.open(self._life_file(driver), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        self._life_file(driver).unlink(missing_ok=True)
        return False

    def _life_file(self, driver: str) -> Path:
        return self._beside(f"driver-{driver or 'none'}")

    def _beside(self, what: str) -> Path:
        return self._file.path.with_name(f"{self._file.path.name}-{what}")
