"""Calls to many devices side by side; one that hangs holds up no other and not the watch."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceReport

__all__ = ["PolledDevice", "Poller"]

MAX_THREADS: Final = 256


class PolledDevice(Protocol):
    """A device that takes part in the looks of a poller."""

    def is_due(self, time_s: float) -> bool:
        """Return whether it should be looked at now."""

    def begin(self, future: Future[DeviceReport]) -> None:
        """Take over a look that waits to be begun."""

    def look_now(self) -> DeviceReport:
        """Ask the device, on whatever thread this is."""


class Poller:
    """Threads that look at devices; they end with the process, whatever they wait for."""

    def __init__(self) -> None:
        self._members: list[PolledDevice] = []
        self._waiting: SimpleQueue[tuple[Future[DeviceReport], PolledDevice]] = SimpleQueue()
        self._num_threads = 0
        self._served: set[int] = set()

    def join(self, member: PolledDevice) -> None:
        """Let a device be looked at with the others."""
        self._members.append(member)

    def serve(self, member: PolledDevice, time_s: float) -> None:
        """Begin what must be begun before *member* is read.

        The first that is read in a round begins the looks at all that are due.
        """
        is_first = not self._served or id(member) in self._served
        if is_first:
            self._served.clear()
        self._served.add(id(member))
        for one in self._members if is_first else (member,):
            if one.is_due(time_s):
                one.begin(self._submit(one))

    def _submit(self, member: PolledDevice) -> Future[DeviceReport]:
        if self._num_threads < min(MAX_THREADS, len(self._members)):
            self._num_threads += 1
            threading.Thread(target=self._work, daemon=True, name="netloom-look").start()
        future: Future[DeviceReport] = Future()
        self._waiting.put((future, member))
        return future

    def _work(self) -> None:
        while True:
            future, member = self._waiting.get()
            try:
                future.set_result(member.look_now())
            except BaseException as error:  # noqa: BLE001  (its waiter raises it again)
                future.set_exception(error)
