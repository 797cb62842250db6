"""The time, and waiting for it; the one place of a watch that reads a clock."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "StoppableClock", "WallClock"]


class Clock(Protocol):
    """What a watch needs to know of time."""

    def now_s(self) -> float:
        """Return seconds since 1970 (UTC)."""

    def ticks_s(self) -> float:
        """Return seconds since some moment; never set back."""

    def wait(self, wait_s: float) -> bool:
        """Return after *wait_s*, or at once when it is told to stop; and whether it is."""


class StoppableClock(Clock, Protocol):
    """A clock that can be told to end what waits for it."""

    def is_stopped(self) -> bool:
        """Return whether it was told to stop."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """This machine's clock."""

    _stop: threading.Event = field(default_factory=threading.Event)

    def now_s(self) -> float:
        """Return seconds since 1970 (UTC)."""
        return datetime.now(UTC).timestamp()

    def ticks_s(self) -> float:
        """Return seconds since this machine started or so."""
        return time.monotonic()

    def wait(self, wait_s: float) -> bool:
        """Return after *wait_s*, or at once when :meth:`stop` was called; and whether it was."""
        return self._stop.wait(max(0.0, wait_s))

    def is_stopped(self) -> bool:
        """Return whether :meth:`stop` was called."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Let every wait end; may be called from a signal handler."""
        self._stop.set()
