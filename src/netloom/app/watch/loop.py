"""Look at everything again and again, for weeks: store, publish, keep within bounds.

What is kept in memory is the last value of every series and nothing else. A source that fails is
recorded as failed; the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError, OutputError
from netloom.ops.observe.devices import printable
from netloom.ops.observe.observation import failed
from netloom.ops.observe.retention import RetentionLimits, retain
from netloom.ops.observe.store_file import StoreFullError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.drivers.clock import Clock
    from netloom.ops.observe.observation import Collector, Reading
    from netloom.ops.observe.store import ObservationStore

__all__ = ["Watch"]

RETAIN_S: Final = 300.0
WAKE_S: Final = 0.5
STORE: Final = "store"


@dataclass(slots=True, kw_only=True)
class Watch:
    """A watch over some sources.

    Attributes:
        store: Where readings go.
        collectors: What to look at, in this order.
        clock: The time.
        log: Told what happens: the event's name and its fields.
        publish: Called after each round, with its time.
        locate: Called before that, with the time and the sources that failed.
        every_s: From the start of one round to that of the next.
        limits: How much of the past is kept.
        is_stopped: Whether to stop; asked before each look.
        wake: Asked between rounds, twice a second: whether to locate and publish at once.
    """

    store: ObservationStore
    collectors: Sequence[Collector]
    clock: Clock
    log: Callable[..., None]
    publish: Callable[[float], None]
    locate: Callable[[float, Sequence[str]], None] | None = None
    every_s: float = 10.0
    limits: RetentionLimits = field(default_factory=RetentionLimits)
    is_stopped: Callable[[], bool] = bool
    wake: Callable[[], bool] | None = None
    _last_s: float = 0.0
    _retained_s: float | None = None
    _failing: set[str] = field(default_factory=set)

    def run(self, *, rounds: int | None = None) -> int:
        """Look every :attr:`every_s` until the clock says stop, and return how many rounds it was.

        Rounds begin at whole multiples of the interval after the first; one that takes longer
        than that leaves out those it ran over.

        Args:
            rounds: Stop after this number.

        While the disk is full nothing is kept, which is said once, and it goes on: what files
        hold is read later, what devices said meanwhile is lost.

        Raises:
            OutputError: the store cannot be used; nothing acknowledged is lost.
        """
        self._last_s = max((poll.time_s for poll in self.store.last_polls()), default=0.0)
        names = [one.source for one in self.collectors]
        assert len(set(names)) == len(names), names
        self.log("start", sources=len(names), every_s=self.every_s)
        start_s, done = self.clock.ticks_s(), 0
        while not self.is_stopped():
            self._try_round()
            done += 1
            taken_s = self.clock.ticks_s() - start_s
            next_s = (taken_s // self.every_s + 1) * self.every_s
            if (rounds is not None and done >= rounds) or self._wait(next_s - taken_s):
                break
        self.log("stop", rounds=done)
        return done

    def _wait(self, wait_s: float) -> bool:
        """Wait for the next round, and return whether to stop instead."""
        if self.wake is None:
            return self.clock.wait(wait_s)
        until_s = self.clock.ticks_s() + wait_s
        while (left_s := until_s - self.clock.ticks_s()) > 0:
            if self.clock.wait(min(left_s, WAKE_S)):
                return True
            if self.wake():
                self._tell_now(self._time_s())
        return self.is_stopped()

    def _tell_now(self, now_s: float) -> None:
        if self.locate is not None:
            self.locate(now_s, self.failing)
        self.publish(now_s)

    @property
    def failing(self) -> tuple[str, ...]:
        """The sources whose last look failed, by name."""
        return tuple(sorted(self._failing))

    def _try_round(self) -> None:
        try:
            self.round()
        except StoreFullError as error:
            if STORE not in self._failing:
                self._failing.add(STORE)
                self.log("store-full", error=str(error))
        else:
            if STORE in self._failing:
                self._failing.discard(STORE)
                self.log("store-back")

    def round(self) -> None:
        """Look at every source once, unless told to stop meanwhile.

        Raises:
            OutputError: the store cannot be written.
        """
        begun_s = self.clock.ticks_s()
        num_seen = num_rows = 0
        for collector in self.collectors:
            reading = self._read(collector)
            if self.is_stopped():  # what is half seen because we end is not kept
                return
            num_rows += self.store.add(reading)
            num_seen += len(reading.observations)
            self._tell(reading)
        now_s = self._time_s()
        self._retain(now_s)
        self._tell_now(now_s)
        took_s = round(self.clock.ticks_s() - begun_s, 3)
        told = {"observations": num_seen, "rows": num_rows, "took_s": took_s}
        self.log("round", **told, failing=self.failing)

    def _tell(self, reading: Reading) -> None:
        """Log what happened; of a source that fails, when it begins and ends."""
        for event in reading.events:
            self.log("event", part=event.part, kind=event.kind, text=event.text)
        if reading.error and reading.source not in self._failing:
            self._failing.add(reading.source)
            self.log("source-failed", source=reading.source, error=reading.error)
        elif not reading.error and reading.source in self._failing:
            self._failing.discard(reading.source)
            self.log("source-back", source=reading.source)

    def _read(self, collector: Collector) -> Reading:
        time_s = self._time_s()
        begun_s = self.clock.ticks_s()
        cursor = self.store.cursor(collector.source)
        try:
            reading = collector.read(time_s, cursor)
        except OutputError:
            raise  # ours, not the source's
        except NetloomError as error:
            reading = failed(collector.source, time_s, str(error), cursor=cursor)
        except Exception as error:  # noqa: BLE001  (a defect in one collector ends no watch)
            text = f"defect of netloom: {type(error).__name__}: {error}"
            reading = failed(collector.source, time_s, printable(text, 400), cursor=cursor)
        return replace(reading, took_s=self.clock.ticks_s() - begun_s)

    def _time_s(self) -> float:
        """Return now, later than ever before although a clock may be set back."""
        self._last_s = max(self.clock.now_s(), self._last_s + 1e-6)
        return self._last_s

    def _retain(self, now_s: float) -> None:
        if self._retained_s is None or now_s - self._retained_s >= RETAIN_S:
            retain(self.store, now_s, self.limits)
            self._retained_s = now_s
