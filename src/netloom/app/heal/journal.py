"""The log of healing on disk: appended and synced line by line, never rewritten."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.ops.heal.log import LogEntry, parse_entries, render_entry

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileJournal"]

MAX_BYTES: Final = 2**28


@dataclass(frozen=True, slots=True, kw_only=True)
class FileJournal:
    """A log in a file of JSON lines; what it has written survives a crash of the machine."""

    path: Path

    def entries(self) -> tuple[LogEntry, ...]:
        """Return all entries, oldest first; none before the first was written.

        Raises:
            LabError: it cannot be read.
            SpecError: a later netloom wrote it.
        """
        try:
            with self.path.open("rb") as file:
                text = file.read(MAX_BYTES).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ()
        except OSError as error:
            msg = "read"
            raise self._trouble(msg, error) from error
        return parse_entries(text, name=str(self.path))

    def write(self, entry: LogEntry) -> None:
        """Append an entry and wait until it is on the disk.

        Raises:
            LabError: it cannot be written; nothing must be done then.
        """
        try:
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, self._start(descriptor) + render_entry(entry).encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                self._sync_folder()
        except OSError as error:
            msg = "written"
            raise self._trouble(msg, error) from error

    def _start(self, descriptor: int) -> bytes:
        """Return an end for the line that a crash cut short, if there is one."""
        size = os.fstat(descriptor).st_size
        return b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _trouble(self, what: str, error: OSError) -> LabError:
        return LabError(f"{self.path}: cannot be {what} ({error.strerror}); nothing was done")
