"""A log of one JSON object a line, for people and machines."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["json_log"]


def json_log(stream: IO[str], now_s: Callable[[], float]) -> Callable[..., None]:
    """Return a function that writes an event and its fields to *stream* as one line."""

    def log(event: str, **fields: object) -> None:
        time = datetime.fromtimestamp(now_s(), UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": time, "event": event, **fields}, default=str)
        with contextlib.suppress(OSError, ValueError):  # the reader is gone; the watch goes on
            stream.write(f"{line}\n")
            stream.flush()

    return log
