"""A SQLite file that netloom keeps things in: its mark, transactions, and errors in words."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netloom.errors import OutputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

__all__ = ["SqliteFile"]


class SqliteFile:
    """A file and its connection.

    Args:
        path: Made where it is not there.
        wrong: What is said of a file that SQLite cannot use.
        options: Of the connection.

    Raises:
        OutputError: it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, wrong: str, **options: Any) -> None:
        self.path = Path(path).absolute()
        self._wrong = wrong
        with self.explained():
            self.connection = sqlite3.connect(self.path, isolation_level=None, **options)

    def prepare(
        self, schema: Sequence[str], *, application_id: int, version: int, other: str
    ) -> None:
        """Make what *schema* says, or make sure that the file has it.

        Raises:
            OutputError: it is another file; *other* says so.
        """
        with self.transaction() as database:
            marks = [
                database.execute(query).fetchone()[0]
                for query in ("PRAGMA application_id", "PRAGMA user_version")
            ]
            if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in schema:
                    database.execute(statement)
            elif marks != [application_id, version]:
                raise OutputError(file=str(self.path), what=other, remedy="name another file")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection; what is done is there whole afterwards, or not at all."""
        with self.explained():
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:  # Ctrl-C included, wherever it strikes
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what SQLite and the disk raise as an error with the file's name."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise OutputError(
                file=str(self.path), what=f"{self._wrong} ({error})", remedy="name another file"
            ) from error
