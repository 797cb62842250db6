"""Which of two watches leads: one thread renews the lease, or waits for it to become free."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError
from netloom.ops.cases.lease import CaseRecords, LeaderTables, Lease, release, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.drivers.services.postgres import PostgresTables

__all__ = ["PATIENCE_S", "LeadChange", "LeaseKeeper"]

HOLD_S: Final = 6.0  # a leader that is gone is replaced this long after its last renewal,
BEAT_S: Final = 1.5  # and this much later at most
PATIENCE_S: Final = 120.0  # a watch that has not come round for so long does not lead


class LeaseKeeper:
    """Holds the lease while the watch comes round; gives it back when the watch ends."""

    def __init__(
        self,
        tables: PostgresTables,
        log: Callable[..., None],
        *,
        patience_s: float = PATIENCE_S,
        hold_s: float = HOLD_S,
    ) -> None:
        """Ask for the lease once, and go on in a thread.

        Args:
            tables: A connection for this thread alone.
            log: Told when this watch begins and ceases to lead.
            patience_s: How long the watch may take for a round.
            hold_s: How long the lease is held without renewal.

        Raises:
            OutputError: the database does not answer.
        """
        self.holder = f"{socket.gethostname()[:80]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._tables, self._log = tables, log
        self._patience_s, self._hold_s = patience_s, hold_s
        self._lease: Lease | None = None
        self._renewed_s = self._round_s = time.monotonic()
        self._stop = threading.Event()
        self._ask()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def leads(self) -> bool:
        """Return whether the lease is held, as far as this process can know."""
        return self.lease() is not None

    def lease(self) -> Lease | None:
        """Return the lease; None where it is another's, or was not renewed in time."""
        is_fresh = time.monotonic() - self._renewed_s < self._hold_s
        return self._lease if is_fresh else None

    def came_round(self) -> None:
        """Say that the watch is alive."""
        self._round_s = time.monotonic()

    def records(self, tables: PostgresTables, fabric: str) -> CaseRecords:
        """Return where cases are, written only while this watch leads."""
        fenced = LeaderTables(store=tables, lease=self.lease)
        return CaseRecords(tables=fenced, leads=self.leads, fabric=fabric)

    def close(self) -> None:
        """Let another watch lead at once."""
        self._stop.set()
        self._thread.join(2 * BEAT_S)
        lease, self._lease = self._lease, None
        if lease is not None:
            try:
                release(self._tables, lease)
            except NetloomError as error:  # then it runs out
                self._log("lease-not-released", error=str(error))
        self._tables.close()

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            self._ask()

    def _ask(self) -> None:
        """Take or renew the lease; a database that does not answer is no lease."""
        asked_s, before = time.monotonic(), self._lease
        if asked_s - self._round_s > self._patience_s:
            self._lease = None  # it runs out, and another takes over
        else:
            try:
                self._lease = take(self._tables, self.holder, hold_s=self._hold_s)
                self._renewed_s = asked_s
            except NetloomError as error:
                if before is not None and asked_s - self._renewed_s >= self._hold_s:
                    self._lease = None
                    self._log("lead-lost", error=str(error))
                return
        if (self._lease is None) != (before is None):
            word = "leading" if self._lease is not None else "lead-lost"
            self._log(word, holder=self.holder, token=self._lease.token if self._lease else 0)


class LeadChange:
    """Says, between rounds, when this watch has just begun to lead; rounds show that it lives."""

    def __init__(self, keeper: LeaseKeeper, hurry: Callable[[], None]) -> None:
        self._keeper, self._hurry, self._led = keeper, hurry, keeper.leads()

    def __call__(self) -> bool:
        """Return whether it leads since the last time this was asked."""
        self._keeper.came_round()
        led, self._led = self._led, self._keeper.leads()
        if self._led and not led:
            self._hurry()
            return True
        return False
