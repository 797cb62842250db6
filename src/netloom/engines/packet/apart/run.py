"""Components of a run, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final, cast

from netloom.engines.packet.apart.cut import cut
from netloom.engines.packet.apart.running import (
    Progress,
    made_simulation,
    progress_of,
    run_to_end,
)
from netloom.engines.packet.apart.side_by_side import SideBySide, on_threads
from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from netloom.engines.native import PacketSimulation
    from netloom.engines.packet.apart.components import Components
    from netloom.engines.packet.apart.running import RunEnds, Stuck
    from netloom.engines.packet.frames import LinkFrames
    from netloom.engines.packet.lower import Lowered

__all__ = ["Ran", "run_apart"]

_DEADLOCK: Final = 3  # core/include/netloom/packet/simulation.hpp


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A simulation that has ended.

    Attributes:
        stuck: Why it stopped before its end; None where it did not.
        num_draws: Random numbers that it took, beside those it was set up with.
    """

    simulation: PacketSimulation | SideBySide
    stuck: Stuck | None
    num_draws: int
    frames: LinkFrames | None = None
    notes: tuple[str, ...] = ()


def run_apart(
    made: Lowered,
    components: Components,
    ends: RunEnds,
    on_progress: Callable[[Progress], bool] | None,
    *,
    num_parts: int,
) -> Ran | None:
    """Run components side by side, up to the end of the last; *components* are of rows of work.

    Return None where one is stuck or waits in a circle: when that ends the others, one simulation
    of all has to tell.
    """
    parts = cut(made, components, num_parts=min(num_parts, components.count))
    simulations = [made_simulation(part.made) for part in parts]
    begun = sum(one.num_draws() for one in simulations)
    told = _PartProgress(simulations, on_progress)
    tasks = [partial(told.run, number, ends) for number in range(len(parts))]
    reasons = on_threads(tasks, told.tell, told.stop.set)
    whole = SideBySide(
        parts=parts,
        simulations=simulations,
        num_rows=len(components.transfer),
        watched=cast("NDArray[np.uint32]", made.arrays["watched_links"]),
    )
    notes: tuple[str, ...] = ()
    if told.stop.is_set():
        notes = (_apart_note(whole),)
    else:
        end_ps = whole.furthest_ps()
        settled = [one.settle(end_ps) for one in simulations]
        if any(reasons) or _DEADLOCK in settled or whole.counters()["deadlocks"]:
            return None
    return Ran(
        simulation=whole,
        stuck=None if all(reason is None for reason in reasons) else "",
        num_draws=whole.num_draws() - begun,
        notes=notes,
    )


def _apart_note(whole: SideBySide) -> str:
    first, last = (
        format_quantity(ps * 1e-12, TIME) for ps in (whole.now_ps(), whole.furthest_ps())
    )
    return (
        f"stopped while components ran side by side: the one least far had come to {first}, the "
        f"furthest to {last}; what has ended is right, totals are of what each had done"
    )


class _PartProgress:
    """Parts of a run, and how far they are, told as that of the whole."""

    def __init__(
        self,
        simulations: Sequence[PacketSimulation],
        on_progress: Callable[[Progress], bool] | None,
    ) -> None:
        self.stop = Event()
        self._simulations = simulations
        self._on_progress = on_progress
        self._parts = [progress_of(one) for one in simulations]
        self._over = [False] * len(simulations)

    def run(self, number: int, ends: RunEnds) -> Stuck | None:
        """Run a part to its end, or until all shall stop."""
        simulation = self._simulations[number]
        reason = run_to_end(simulation, ends, partial(self._hear, number))
        self._parts[number], self._over[number] = progress_of(simulation), True
        return reason

    def tell(self) -> None:
        """Tell the sum of all, and the time that the last of those under way has come to."""
        parts = tuple(self._parts)
        times = [part.simulated_ps for part in parts]
        under_way = [ps for ps, over in zip(times, self._over, strict=True) if not over]
        whole = Progress(
            simulated_ps=min(under_way, default=max(times)),
            events=sum(part.events for part in parts),
            link_traversals=sum(part.link_traversals for part in parts),
            delivered_bytes=sum(part.delivered_bytes for part in parts),
            num_unfinished=sum(part.num_unfinished for part in parts),
        )
        if self._on_progress is not None and not self._on_progress(whole):
            self.stop.set()

    def _hear(self, number: int, progress: Progress) -> bool:
        self._parts[number] = progress
        return not self.stop.is_set()
