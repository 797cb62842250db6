"""What changed, told to every open page as server-sent events.

An event is small, or says ``reload``. A page that reads too slowly is not waited for: what it
missed is dropped, and it is told to reload.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["MAX_OF_A_VISITOR", "MAX_PAGES", "EventHub"]

KEPT: Final = 1024
PENDING: Final = 64
PING_S: Final = 15.0
MAX_PAGES: Final = 200
MAX_OF_A_VISITOR: Final = 25
RELOAD: Final = "reload"


class EventHub:
    """Events in order, the last 1,024 kept for pages that come back."""

    def __init__(self) -> None:
        self._number = 0
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._pages: dict[asyncio.Queue[str], str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def num_pages(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    def num_pages_of(self, visitor: str) -> int:
        """How many of them are one visitor's."""
        return sum(name == visitor for name in self._pages.values())

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver in this loop from now on."""
        self._loop = loop

    def tell(self, kind: str, value: dict[str, Any]) -> None:
        """Tell all pages; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, kind, value)

    async def follow(self, last_id: str, *, visitor: str = "") -> AsyncIterator[str]:
        """Give events as text, from the one after *last_id*; a ping now and then."""
        with self._page(visitor) as queue:
            for text in self._missed(last_id):
                yield text
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), PING_S)
                except TimeoutError:
                    yield ": ping\n\n"

    def _deliver(self, kind: str, value: dict[str, Any]) -> None:
        self._number += 1
        text = _event(self._number, kind, value)
        self._kept.append((self._number, text))
        for queue in self._pages:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(_event(self._number, RELOAD, {}))
            else:
                queue.put_nowait(text)

    def _missed(self, last_id: str) -> list[str]:
        if not last_id.isdecimal() or int(last_id) == self._number:
            return [_event(self._number, "hello", {})]
        first = self._kept[0][0] if self._kept else self._number + 1
        if not first - 1 <= int(last_id) <= self._number:
            return [_event(self._number, RELOAD, {})]
        return [text for number, text in self._kept if number > int(last_id)]

    @contextmanager
    def _page(self, visitor: str) -> Iterator[asyncio.Queue[str]]:
        queue: asyncio.Queue[str] = asyncio.Queue(PENDING)
        self._pages[queue] = visitor
        try:
            yield queue
        finally:
            del self._pages[queue]


def _event(number: int, kind: str, value: dict[str, Any]) -> str:
    data = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n"
