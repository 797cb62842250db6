"""How far a simulation is, on a terminal, and how Ctrl-C ends it with what there is."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Final

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["Watcher", "watching"]

QUIET_S: Final = 1.0
EVERY_S: Final = 0.25


@dataclass(slots=True)
class Watcher:
    """Told by the engine how far it is; says whether to stop.

    Attributes:
        unit: What the engine counts: events or flows.
        total: How many of them a run has, where no share is told; 0 when unknown.
        until_ps: Where a run stops, 0 for nowhere.
        num_runs: How many there are, some of them at a time, each on a thread.
    """

    unit: str
    total: int
    until_ps: int = 0
    num_runs: int = 1
    stop: threading.Event = field(default_factory=threading.Event)
    _began_s: float = field(default_factory=perf_counter)
    _shown_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _width: int = 0
    _share: dict[int, float] = field(default_factory=dict)  # by thread
    _under_way: dict[int, tuple[int, float]] = field(default_factory=dict)  # by thread
    _over: int = 0  # runs that ended, and what they counted
    _counted: int = 0

    def tell(self, share: float) -> None:
        """Hear what share of its payload has arrived in the run of this thread."""
        with self._lock:
            self._share[threading.get_ident()] = share

    def __call__(self, simulated_ps: int, count: int) -> bool:
        """Show a line now and then; return whether the run shall stop."""
        now_s = perf_counter() - self._began_s
        with self._lock:
            self._note(simulated_ps, count)
        if now_s > QUIET_S and now_s - self._shown_s > EVERY_S and sys.stderr.isatty():
            with self._lock:
                self._shown_s = now_s
                self._show(self.line(simulated_ps, now_s))
        return self.stop.is_set()

    def _note(self, simulated_ps: int, count: int) -> None:
        """Write down how far the run of this thread is; one that starts over follows another."""
        thread = threading.get_ident()
        before, _ = self._under_way.get(thread, (0, 0.0))
        if count < before:
            self._over += 1
            self._counted += before
        done = simulated_ps / self.until_ps if self.until_ps else 0.0
        share = self._share.get(thread, count / self.total if self.total else 0.0)
        done = max(done, min(share, 1.0))
        self._under_way[thread] = (count, done)

    def line(self, simulated_ps: int, now_s: float) -> str:
        """Return what to show after *now_s* seconds, of all runs that were noted."""
        rate = (self._counted + sum(count for count, _ in self._under_way.values())) / now_s
        done = (self._over + sum(done for _, done in self._under_way.values())) / self.num_runs
        left = f", about {now_s / done - now_s:.0f} s left" if done > 0.01 else ""
        simulated = format_quantity(simulated_ps * 1e-12, TIME)
        run = f"seed {self._over + 1} of {self.num_runs}, " if self.num_runs > 1 else ""
        speed = f"{rate:,.0f} {self.unit}/s{left}"
        return f"{run}simulated {simulated}, {speed} (Ctrl-C keeps the results)"

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._show("")

    def _show(self, text: str) -> None:
        print(f"\r{text:<{self._width}}\r{text}", end="", file=sys.stderr, flush=True)
        self._width = len(text)


@contextmanager
def watching(watcher: Watcher) -> Iterator[Watcher]:
    """Let the first Ctrl-C stop what *watcher* watches, and the second end the program."""
    before = signal.getsignal(signal.SIGINT)

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        watcher.stop.set()
        signal.signal(signal.SIGINT, before)

    on_main = threading.current_thread() is threading.main_thread()
    if on_main:
        signal.signal(signal.SIGINT, interrupted)
    try:
        yield watcher
    finally:
        if on_main:
            signal.signal(signal.SIGINT, before)
        watcher.clear()
