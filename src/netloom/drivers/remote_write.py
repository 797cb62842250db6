"""Metrics to another time-series engine by Prometheus remote write, beside the watch.

A thread of its own encodes and sends; requests that the engine does not take wait, up to a bound,
and are tried again after rests. The watch never waits for it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.drivers.devices.web import HttpStatusError, fetch
from netloom.errors import NetloomError
from netloom.formats.prometheus.remote_write import STALE, RequestWriter
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from netloom.ops.observe.devices import DeviceAccess

    Samples = Sequence[tuple[str, str, float]]

__all__ = ["RemoteWriter"]

HEADERS: Final = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": "netloom",
}
BATCH: Final = 10_000  # series of a request: some 500 kB
MAX_WAITING_BYTES: Final = 64 * 2**20
MAX_LOOKS: Final = 2  # that wait to be encoded
REPEAT_S: Final = 120.0  # Prometheus holds a series without samples for 5 min to be over
FIRST_REST_S, MOST_REST_S = 1.0, 60.0
CLOSE_S: Final = 5.0
TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    body: bytes
    num_samples: int


@dataclass(slots=True, kw_only=True)
class _Counts:
    sent: int = 0
    dropped: int = 0
    refused: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class RemoteWriter:
    """Sends what each look saw: what changed, all every two minutes, and what has ended.

    Attributes:
        access: Where to, and with which secret.
        labels: Of all series.
        log: Told when it begins to fail and when it goes on.
        max_bytes: How much may wait.
    """

    access: DeviceAccess
    labels: Mapping[str, str]
    log: Callable[..., None]
    max_bytes: int = MAX_WAITING_BYTES
    _writer: RequestWriter = field(init=False)
    _looks: deque[tuple[float, Samples]] = field(default_factory=deque)
    _outbox: deque[_Request] = field(default_factory=deque)
    _last: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _counts: _Counts = field(default_factory=_Counts)
    _wake: threading.Condition = field(default_factory=threading.Condition)
    _num_failures: int = 0
    _next_s: float = 0.0
    _close_s: float | None = None
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Begin to send."""
        self._writer = RequestWriter(self.labels)
        self._thread = threading.Thread(target=self._run, daemon=True, name="netloom-remote")
        self._thread.start()

    @property
    def counts(self) -> dict[str, int]:
        """Samples by what became of them: sent, dropped for want of room, refused by the engine."""
        with self._wake:
            found = self._counts
            return {"sent": found.sent, "dropped": found.dropped, "refused": found.refused}

    def put(self, time_s: float, samples: Samples) -> None:
        """Take what a look saw: family, labels in the text format, value. Never waits."""
        with self._wake:
            self._looks.append((time_s, samples))
            while len(self._looks) > MAX_LOOKS:
                self._counts.dropped += len(self._looks.popleft()[1])
            self._wake.notify_all()

    def close(self) -> None:
        """Send what waits, for at most a few seconds; the rest is counted as dropped."""
        with self._wake:
            self._close_s = time.monotonic() + CLOSE_S
            self._wake.notify_all()
        self._thread.join(timeout=2 * CLOSE_S)
        with self._wake:
            num_left = sum(one.num_samples for one in self._outbox)
            self._counts.dropped += num_left
        self.log("remote-write-end", **self.counts)

    def _run(self) -> None:
        while not self._is_over():
            look = self._next_look()
            if look is not None:
                self._encode(*look)
            if self._outbox and time.monotonic() >= self._next_s:
                self._send(self._outbox[0])

    def _is_over(self) -> bool:
        if self._close_s is None:
            return False
        is_late = time.monotonic() >= self._close_s
        return is_late or not (self._looks or self._outbox)

    def _next_look(self) -> tuple[float, Samples] | None:
        """Return a look to encode; wait for one, or for the next try at what waits."""
        with self._wake:
            if not self._looks:
                now_s = time.monotonic()
                until_s = self._next_s if self._outbox else now_s + MOST_REST_S
                if self._close_s is not None:
                    until_s = min(until_s, self._close_s)
                self._wake.wait(max(0.0, until_s - now_s))
            return self._looks.popleft() if self._looks else None

    def _encode(self, time_s: float, samples: Samples) -> None:
        told = list(self._due(time_s, samples))
        for start in range(0, len(told), BATCH):
            some = told[start : start + BATCH]
            body = self._writer.request(some, time_s)
            self._outbox.append(_Request(body=body, num_samples=len(some)))
        self._writer.forget((name, labels) for name, labels, value in told if value is STALE)
        waiting = sum(len(one.body) for one in self._outbox)
        while waiting > self.max_bytes and len(self._outbox) > 1:
            gone = self._outbox.popleft()
            waiting -= len(gone.body)
            with self._wake:
                self._counts.dropped += gone.num_samples

    def _due(self, time_s: float, samples: Samples) -> Iterator[tuple[str, str, float]]:
        """Give what changed or was not told for long, and the end of what is told no more."""
        now: dict[tuple[str, str], tuple[float, float]] = {}
        for name, labels, value in samples:
            key = (name, labels)
            known = self._last.get(key)
            if known is None or known[0] != value or time_s - known[1] >= REPEAT_S:
                yield name, labels, value
                now[key] = (value, time_s)
            else:
                now[key] = known
        for name, labels in self._last.keys() - now.keys():
            yield name, labels, STALE
        self._last = now

    def _send(self, request: _Request) -> None:
        try:
            fetch(self.access, body=request.body, headers=HEADERS)
        except HttpStatusError as error:
            if error.status // 100 == 4 and error.status != TOO_MANY:
                self._finish(request, "refused", error)
            else:
                self._rest(error)
        except NetloomError as error:
            self._rest(error)
        else:
            self._finish(request, "sent")

    def _finish(self, request: _Request, outcome: str, error: Any = None) -> None:
        self._outbox.popleft()
        with self._wake:
            setattr(self._counts, outcome, getattr(self._counts, outcome) + request.num_samples)
        if error is not None:
            self.log("remote-write-refused", error=printable(str(error), 300))
        if self._num_failures:
            self.log("remote-write-back")
        self._num_failures, self._next_s = 0, 0.0

    def _rest(self, error: NetloomError) -> None:
        self._num_failures += 1
        if self._num_failures == 1:
            self.log("remote-write-failed", error=printable(str(error), 300))
        rest_s = min(MOST_REST_S, FIRST_REST_S * 2.0 ** min(self._num_failures - 1, 20))
        self._next_s = time.monotonic() + rest_s
