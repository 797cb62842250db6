"""Connections that do not wait for requests which never come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["HEADERS_S", "TimedProtocol"]

HEADERS_S: Final = 10.0


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that hangs up where the headers of a request take longer than 10 s.

    uvicorn times a connection only after its first answer: some hundred that send nothing, or a
    byte now and then, would keep everybody out.
    """

    headers_s = HEADERS_S

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and begin to wait for a request."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; the time goes on until the headers are whole."""
        super().data_received(data)
        self._watch()

    @property
    def _is_between_requests(self) -> bool:
        # uvicorn types it as always there; before the first request it is None
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]

    def _watch(self) -> None:
        if not self._is_between_requests:
            self._forget()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.headers_s, self._hang_up)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._timer = None
        if self._is_between_requests and self.timeout_keep_alive_task is None:
            self.transport.close()
