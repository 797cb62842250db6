"""States of runs on disk, so that a run that was killed goes on from the last that was kept.

SQLite: a state is replaced in one transaction, so that it is there whole or the one before it is.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from netloom.results.sqlite_file import SqliteFile

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["StateFile"]

APPLICATION_ID: Final = 0x6E6C7274  # "nlrt", in the file's header
FORMAT: Final = 1
EVERY_S: Final = 30.0
_MAX_SHARE: Final = 0.05  # of a run's time that keeping it may take
_PIECE_BYTES: Final = 1 << 28  # SQLite holds 10^9 bytes in one cell

_SCHEMA: Final = (
    "CREATE TABLE states (key TEXT, piece INTEGER, state BLOB, PRIMARY KEY (key, piece))",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)


class StateFile:
    """A file of states; several threads may use it.

    Args:
        path: Made where it is not there.
        version: Of what wrote the states: those of another are not found.
        clock: Gives seconds.
        every_s: How long a run goes on before it is kept again, or longer where that takes long.

    Raises:
        OutputError: the file cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        version: str,
        clock: Callable[[], float],
        every_s: float = EVERY_S,
    ) -> None:
        self._version = version
        self._clock = clock
        self._every_s = every_s
        self._due_s = clock() + every_s
        self._lock = Lock()
        self._file = SqliteFile(path, wrong="cannot keep runs", check_same_thread=False)
        try:
            self._file.prepare(
                _SCHEMA,
                application_id=APPLICATION_ID,
                version=FORMAT,
                other="keeps no runs of this netloom",
            )
        except BaseException:
            self._file.connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.connection.close()

    def find(self, key: str) -> bytes | None:
        """Return the state that was kept last under *key*; None where there is none."""
        query = "SELECT state FROM states WHERE key = ? ORDER BY piece"
        with self._lock, self._file.explained():
            pieces = [row[0] for row in self._file.connection.execute(query, [self._named(key)])]
        return b"".join(pieces) if pieces else None

    def keep(self, key: str, state: bytes) -> None:
        """Keep *state* in place of what is there under *key*."""
        name, whole = self._named(key), memoryview(state)
        begun_s = self._clock()
        with self._lock, self._file.transaction() as database:
            database.execute("DELETE FROM states WHERE key = ?", [name])
            for piece, begin in enumerate(range(0, max(len(state), 1), _PIECE_BYTES)):
                part = whole[begin : begin + _PIECE_BYTES]
                database.execute("INSERT INTO states VALUES (?, ?, ?)", [name, piece, part])
        now_s = self._clock()
        self._due_s = now_s + max(self._every_s, (now_s - begun_s) / _MAX_SHARE)

    def is_due(self) -> bool:
        """Return whether a run that goes on should be kept again."""
        return self._clock() >= self._due_s

    def _named(self, key: str) -> str:
        return f"{self._version} {key}"
