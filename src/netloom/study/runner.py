"""What simulates: an engine on a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.study.simulation import Grid
    from netloom.workload.transfers import Transfers

__all__ = ["OnProgress", "OnShare", "Runner"]

# Told the simulated picoseconds and what the engine has done so far; true stops the run.
OnProgress = Callable[[int, int], bool]
# Told before that what share of all there is to do is done: of the payload, or of the flows.
OnShare = Callable[[float], None]


class Runner(Protocol):
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
    ) -> tuple[Delivery, NDArray[np.int64]]:
        """Return the delivery, and how long each transfer would take alone."""
        ...
