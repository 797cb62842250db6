"""Tells pages when a watch has looked again; it reads the store and never waits for a page."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from netloom.app.live.twin import case_name
from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.app.live.twin import LiveTwin

__all__ = ["LiveFeed"]

EVERY_S: Final = 1.0


class LiveFeed:
    """Looks at the store every second and tells what is new.

    Args:
        twin: What is watched.
        tell: Given the kind of an event and its value.
    """

    def __init__(self, twin: LiveTwin, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self._twin, self._tell = twin, tell
        self._ended = threading.Event()
        self._seen_s: float | None = None
        self._open: frozenset[str] = frozenset()
        self._thread = threading.Thread(target=self._follow, name="live-feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join(timeout=5 * EVERY_S)

    def _follow(self) -> None:
        while not self._ended.wait(EVERY_S):
            try:
                self._look()
            except NetloomError as error:  # the page says that it is stale
                self._tell("live", {"error": str(error)})

    def _look(self) -> None:
        span = self._twin.past.span_s()
        if span is None or span[1] == self._seen_s:
            return
        self._seen_s = span[1]
        self._twin.warm()
        cases = frozenset(case_name(case) for case in self._twin.open_at(self._twin.now()))
        for name in sorted(cases ^ self._open):
            self._tell("case", {"case": name, "open": name in cases})
        self._open = cases
        self._tell("live", {"time_s": span[1], "sequence": round(span[1] * 1000)})
