"""The cases in a watch's file, for a command that runs beside the watch."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, Self

from netloom.errors import OutputError
from netloom.ops.observe.store_file import opened, store_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SqliteTables", "back_up"]

PAGES: Final = 4096  # copied at a time: a watch writes in between


class SqliteTables:
    """A store that a watch may be writing to; each of the two waits for the other."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            OutputError: there is none, or it is no store of netloom's.
        """
        _check(path)
        self.path = path
        with store_errors(path):
            self._file = opened(path)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the open file to read from."""
        with store_errors(self.path):
            yield self._file

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Give it in a transaction that is on disk when the block ends well."""
        with store_errors(self.path):
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise


def back_up(path: Path, to: Path) -> int:
    """Copy a store as it is at one moment, while a watch writes to it, and return its bytes.

    The copy passes SQLite's check of its integrity, is on disk, and is its owner's alone.

    Raises:
        OutputError: there is no such store, the copy is there already, or cannot be written.
    """
    _check(path)
    try:
        os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise OutputError(
            file=str(to),
            what=f"cannot be written ({error.strerror})",
            remedy="name a file that is not there yet",
        ) from error
    try:
        _copy(path, to)
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    return to.stat().st_size


def _copy(path: Path, to: Path) -> None:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with store_errors(path), closing(sqlite3.connect(uri, uri=True)) as source:
        source.execute("SELECT 1 FROM poll LIMIT 1")  # fails by the name of what is no store
    with (
        store_errors(to),
        closing(sqlite3.connect(uri, uri=True)) as source,
        closing(sqlite3.connect(to)) as copy,
    ):
        source.backup(copy, pages=PAGES)
        copy.execute("PRAGMA journal_mode = DELETE")
        ((verdict,),) = copy.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != "ok":
            raise OutputError(
                file=str(to), what=f"the copy is not whole ({verdict})", remedy="copy again"
            )
    descriptor = os.open(to, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(path: Path) -> None:
    """Refuse what is no store; an empty file would be made one."""
    if not path.is_file() or not path.stat().st_size:
        raise OutputError(
            file=str(path),
            what="there is no such store",
            remedy="name the one that 'netloom watch' writes",
        )
