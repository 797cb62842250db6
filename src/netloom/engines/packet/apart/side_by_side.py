"""Simulations of the parts of one run, told as the one that they are."""

from __future__ import annotations

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.native import PacketSimulation
    from netloom.engines.packet.apart.cut import RunPart

__all__ = ["SideBySide", "in_order", "on_threads"]

_TELL_S: Final = 0.1
Found = TypeVar("Found")


def on_threads(
    tasks: Sequence[Callable[[], Found]], tell: Callable[[], None], stop: Callable[[], None]
) -> list[Found]:
    """Return what each of *tasks* returns, all of them run at a time.

    Args:
        tasks: What to run.
        tell: Called by this thread now and then while they run.
        stop: Called where one fails, or this thread is interrupted, to end the others.
    """
    with ThreadPoolExecutor(len(tasks)) as pool:
        try:
            runs = [pool.submit(task) for task in tasks]
            while wait(runs, _TELL_S, return_when=FIRST_EXCEPTION).not_done:
                if any(run.done() and run.exception() for run in runs):
                    break
                tell()
        except BaseException:
            stop()
            raise
        if any(run.done() and run.exception() for run in runs):
            stop()
    return [run.result() for run in runs]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideBySide:
    """Simulations of all parts of a run.

    Attributes:
        num_rows: Rows of work in all.
        watched: Links that are sampled, in their order.
    """

    parts: Sequence[RunPart]
    simulations: Sequence[PacketSimulation]
    num_rows: int
    watched: NDArray[np.uint32]

    def now_ps(self) -> int:
        """Return how far the whole is known: as far as the part that is least far."""
        under_way = [one.now_ps() for one in self.simulations if one.unfinished()]
        return min(under_way, default=max(one.now_ps() for one in self.simulations))

    def furthest_ps(self) -> int:
        """Return how far the part is that is furthest."""
        return max(one.now_ps() for one in self.simulations)

    def transfers(self) -> Columns:
        """Return the times of every row."""
        found = {
            name: np.empty(self.num_rows, dtype=np.int64)
            for name in ("start_ps", "arrive_ps", "finish_ps")
        }
        for part, simulation in self._each():
            for name, times in cast("Columns", simulation.transfers()).items():
                found[name][part.row] = times
        return {**found}

    def counters(self) -> dict[str, int]:
        """Return totals; looks at the whole count once."""
        found = _sums([one.counters() for one in self.simulations])
        looks = [one.num_looks() for one in self.simulations]
        found["events"] -= sum(looks) - max(looks)
        return found

    def timing_counters(self) -> dict[str, int]:
        """Return totals of deterministic networking."""
        return _sums([one.timing_counters() for one in self.simulations])

    def link_bytes(self) -> NDArray[np.int64]:
        """Return what each link carried: nothing in parts that it is not of."""
        return np.asarray(np.sum([one.link_bytes() for one in self.simulations], axis=0))

    def queue_peaks(self) -> NDArray[np.int64]:
        """Return the most that waited; nothing where none is timed."""
        return np.asarray(np.max([one.queue_peaks() for one in self.simulations], axis=0))

    def pauses(self) -> Columns:
        """Return the pauses of all parts, one after the other."""
        return _behind([cast("Columns", one.pauses()) for one in self.simulations])

    def samples(self) -> Columns:
        """Return what the watched links were seen with, each by its part."""
        table = _behind(
            [_rows_of(cast("Columns", one.samples()), part.has_link) for part, one in self._each()]
        )
        place = np.zeros(int(self.watched.max(initial=0)) + 1, dtype=np.int64)
        place[self.watched] = np.arange(len(self.watched))
        order = np.lexsort((place[table["link"].astype(np.int64)], table["when_ps"]))
        return {name: cells[order] for name, cells in table.items()}

    def trace(self) -> Columns:
        """Return departures: none, for a run that is traced is not parted."""
        return cast("Columns", self.simulations[0].trace())

    def deadlock(self) -> NDArray[Any]:
        """Return no circle of links: a run that has one is run whole."""
        return self.simulations[0].deadlock()

    def num_draws(self) -> int:
        """Return how many random numbers were drawn."""
        return sum(one.num_draws() for one in self.simulations)

    def _each(self) -> zip[tuple[RunPart, PacketSimulation]]:
        return zip(self.parts, self.simulations, strict=True)


def in_order(pauses: Columns, *, total: int, most: int) -> Columns:
    """Return pauses by begin, link and lane, where those of equal time have no other order.

    Args:
        pauses: Those that were kept, at most *most* a simulation, from the first.
        total: How many there were.
        most: How many to return; where there were more, the last picosecond may lack some of its
            own, and is left out.
    """
    order = np.lexsort((pauses["lane"], pauses["link"], pauses["begin_ps"]))
    begin_ps = pauses["begin_ps"][order]
    if total > most:
        order = order[: np.searchsorted(begin_ps, begin_ps[most - 1])] if most else order[:0]
    return {name: cells[order] for name, cells in pauses.items()}


def _sums(tables: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: sum(table[name] for table in tables) for name in tables[0]}


def _behind(tables: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _rows_of(table: Columns, has_link: NDArray[np.bool_]) -> Columns:
    keep = has_link[table["link"].astype(np.int64)]
    return {name: cells[keep] for name, cells in table.items()}
