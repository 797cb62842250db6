"""What simulates: an engine on a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from netloom.fabric.graph import Fabric
from netloom.fabric.names import vertex_names
from netloom.study.simulate.simulation import Grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["OnProgress", "OnShare", "SimulationRunner", "StopSignal", "grid_of", "stopwatch"]

# Told the simulated picoseconds and what the engine has done so far; true stops the run.
OnProgress = Callable[[int, int], bool]
# Told before that what share of all there is to do is done: of the payload, or of the flows.
OnShare = Callable[[float], None]


@dataclass(slots=True)
class StopSignal:
    """Tells of progress, and remembers whether the answer was to stop.

    Attributes:
        to_stop: Whether it was, once.
    """

    on_progress: OnProgress | None
    to_stop: bool = False

    def __call__(self, simulated_ps: int, events: int) -> bool:
        """Return whether to stop."""
        if self.on_progress is not None and self.on_progress(simulated_ps, events):
            self.to_stop = True
        return self.to_stop


class SimulationRunner(Protocol):
    """An engine on a network, ready to run transfers."""

    @property
    def name(self) -> str:
        """The engine's name."""
        ...

    @property
    def grid(self) -> Grid:
        """The links it runs on."""
        ...

    @property
    def choices(self) -> dict[str, str]:
        """What was chosen: congestion control, load balancing and so on."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know to trust the numbers."""
        ...

    def run(
        self,
        transfers: Transfers,
        *,
        seed: int,
        until_ps: int | None,
        on_progress: OnProgress | None,
        on_share: OnShare | None = None,
        num_workers: int = 1,
    ) -> tuple[Delivery, NDArray[np.int64]]:
        """Return the delivery, and how long each transfer would take alone.

        Results are the same whatever the number of threads that the run may take.
        """
        ...


def stopwatch(clock: Callable[[], float] | None) -> Callable[[], float | None]:
    """Return what tells the seconds from now on, or None if there is no *clock*."""
    if clock is None:
        return lambda: None
    begin_s = clock()
    return lambda: clock() - begin_s


def grid_of(network: Fabric | PacketTopology) -> Grid:
    """Return the links of *network*."""
    if isinstance(network, Fabric):
        rate_bps = network.link_rate_bps / network.link_slowdown
        name = vertex_names(network)
    else:
        rate_bps, name = network.link_rate_bps, network.name
    return Grid(
        name=name,
        link_source=network.link_source,
        link_target=network.link_target,
        link_rate_bps=rate_bps,
    )
