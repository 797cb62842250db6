"""Who did what by the web page: a line of JSON for each act, on disk before the act."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["WebAudit"]


class WebAudit:
    """A file of lines, only ever added to."""

    def __init__(self, path: Path, *, now: Callable[[], float]) -> None:
        self.path = path
        self._now = now
        self._lock = threading.Lock()

    def write(self, *, who: str, address: str, what: str, **more: Any) -> None:
        """Add a line; when this returns it is on disk."""
        row = {"time_s": self._now(), "who": who, "address": address, "what": what, **more}
        with self._lock:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, (json.dumps(row) + "\n").encode())
                os.fsync(handle)
            finally:
                os.close(handle)

    def last(self, count: int = 200) -> list[dict[str, Any]]:
        """Return the newest lines, the newest first."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 1024 * count))
            lines = file.read().splitlines()[-count:]
        return [row for line in reversed(lines) if (row := _row(line)) is not None]


def _row(line: bytes) -> dict[str, Any] | None:
    """Return a line's values; None of one that was cut off, by a full disk or by where we began."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
