"""The file of a store: its tables, who may write to it, and what to say when it fails."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from netloom.errors import OutputError
from netloom.ops.observe.case_tables import SQLITE_TABLES
from netloom.ops.observe.store_names import SERIES, PackedNames, TabledNames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.ops.observe.store_names import SeriesNames

__all__ = [
    "NO_FINDINGS",
    "WINDOW_COLUMNS",
    "StoreFullError",
    "check_version",
    "locked",
    "names_in",
    "opened",
    "store_errors",
]

VERSION: Final = 3
TABLED: Final = 2  # the version with a row for each series, which is written on as it is
NO_FINDINGS: Final = 1  # the version that had no table of them
BUSY_MS: Final = 10_000
MIN_BYTES: Final = 1 << 20  # a disk with less than this has no room for a reading
WINDOW_COLUMNS: Final = ("count", "first", "last", "least", "most", "total", "increase")

SCHEMA: Final = """
CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                     cursor TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE sample (series INTEGER NOT NULL, time_us INTEGER NOT NULL, value REAL,
                     PRIMARY KEY (series, time_us)) STRICT, WITHOUT ROWID;
CREATE TABLE coarse (series INTEGER NOT NULL, time_us INTEGER NOT NULL, count INTEGER NOT NULL,
                     first REAL NOT NULL, last REAL NOT NULL, least REAL NOT NULL,
                     most REAL NOT NULL, total REAL NOT NULL, increase REAL NOT NULL,
                     PRIMARY KEY (series, time_us)) STRICT, WITHOUT ROWID;
CREATE TABLE event (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL,
                    time_us INTEGER NOT NULL, part TEXT NOT NULL, kind TEXT NOT NULL,
                    text TEXT NOT NULL, UNIQUE (source, key)) STRICT;
CREATE INDEX event_time ON event (time_us);
CREATE TABLE poll (time_us INTEGER NOT NULL, source INTEGER NOT NULL, took_us INTEGER NOT NULL,
                   num_observations INTEGER NOT NULL, error TEXT NOT NULL,
                   PRIMARY KEY (time_us, source)) STRICT, WITHOUT ROWID;
"""
# Version 2 has these too; of a part and kind at most one is open.
FINDINGS: Final = """
CREATE TABLE finding (id INTEGER PRIMARY KEY, part TEXT NOT NULL, kind TEXT NOT NULL,
                      opened_us INTEGER NOT NULL, seen_us INTEGER NOT NULL, closed_us INTEGER,
                      missed INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX finding_open ON finding (part, kind) WHERE closed_us IS NULL;
CREATE INDEX finding_closed ON finding (closed_us);
"""


class StoreFullError(OutputError):
    """Nothing was written for want of space; it can be once there is some again."""


def locked(path: Path) -> int:
    """Return the descriptor that holds the store, so that no other netloom writes to it.

    Raises:
        OutputError: another one does, or the folder cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(
            file=str(path),
            what=f"cannot be used ({error.strerror})",
            remedy="name another with --store",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise OutputError(
            file=str(path),
            what="another netloom writes to it",
            remedy="stop that one or name another store",
        ) from error
    return descriptor


def opened(path: Path) -> sqlite3.Connection:
    """Return the file, open, with its tables made where it had none.

    Raises:
        OutputError: another version of netloom wrote it, or another program; nothing was changed.
    """
    _check_own(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    # Autocommit: transactions begin and end where this module says so.
    file = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    file.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect only before the first table
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = FULL")  # on disk before it is acknowledged
    file.execute(f"PRAGMA journal_size_limit = {64 * 2**20}")
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if version == NO_FINDINGS:
        file.executescript(f"BEGIN IMMEDIATE; {FINDINGS} PRAGMA user_version = {TABLED}; COMMIT;")
    elif version < NO_FINDINGS:
        made = SCHEMA + SERIES + FINDINGS
        file.executescript(f"BEGIN IMMEDIATE; {made} PRAGMA user_version = {VERSION}; COMMIT;")
    else:
        check_version(path, version)
    # Not a version of its own: a netloom that does not know them leaves them alone.
    file.executescript(f"BEGIN IMMEDIATE; {SQLITE_TABLES} COMMIT;")
    return file


def names_in(file: sqlite3.Connection) -> SeriesNames:
    """Return how an open store keeps what its series are called."""
    (version,) = file.execute("PRAGMA user_version").fetchone()
    return TabledNames(file) if version == TABLED else PackedNames(file)


def _check_own(path: Path) -> None:
    """Raise OutputError where *path* is a database that no netloom made; it is not changed."""
    if not path.exists() or not path.stat().st_size:
        return
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        names = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
    if not names or (version and names >= {"source", "series", "sample", "poll"}):
        return
    raise OutputError(
        file=str(path),
        what="it is a database of another program",
        remedy="name another with --store",
    )


def check_version(path: Path, version: int) -> None:
    """Raise OutputError unless *version* of the tables is one that this netloom knows."""
    if version not in (TABLED, VERSION):
        raise OutputError(
            file=str(path),
            what=f"its tables are of version {version}, and this netloom knows {VERSION}",
            remedy="use the netloom that wrote it, or name another with --store",
        )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Let what SQLite complains about be told as netloom tells it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL or _is_full(path, error):
            raise StoreFullError(
                file=str(path),
                what=f"there is no space left for the store ({error})",
                remedy="free some space",
            ) from error
        raise OutputError(
            file=str(path),
            what=f"the store cannot be used ({error})",
            remedy="move it away and start again",
        ) from error
    except OSError as error:
        raise OutputError(
            file=str(path),
            what=f"the store cannot be used ({error.strerror})",
            remedy="name another with --store",
        ) from error


def _is_full(path: Path, error: sqlite3.DatabaseError) -> bool:
    """Return whether a write failed on a disk that has no room: SQLite may call that I/O error."""
    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
        return False
    disk = os.statvfs(path.parent)
    return disk.f_bavail * disk.f_frsize < MIN_BYTES
