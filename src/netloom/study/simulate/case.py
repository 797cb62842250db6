"""Something to simulate, and its traffic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.study.simulate.runner import SimulationRunner
    from netloom.study.simulate.step_run import StepRun
    from netloom.workload.transfers import Transfers

__all__ = ["DRAWN", "DrawnTraffic", "EqualLanes", "SimulationCase", "apart_note"]

DRAWN: Final = "random numbers were drawn, which lanes differ by"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulationCase:
    """Something to simulate.

    Attributes:
        title: In a few words.
        technology: Its name.
        runner: The engine on the network.
        traffic: Gives the transfers for a seed.
        jobs: The name of each piece of traffic.
        notes: What a reader must know.
        step: Tells what came of the step that the traffic is, from all its transfers and
            computations; None where it is no step.
        lanes: How many equal lanes the traffic stands for, and what does where they turn out not
            to be equal; None where it stands for itself.
    """

    title: str
    technology: str
    runner: SimulationRunner
    traffic: Callable[[int], Transfers]
    jobs: tuple[str, ...] = ("all",)
    notes: tuple[str, ...] = field(default=())
    step: Callable[[Transfers, Delivery], StepRun] | None = None
    lanes: EqualLanes | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EqualLanes:
    """Lanes that send the same at the same time over links of their own.

    Attributes:
        count: How many.
        link: For each link, that of the first lane which stands for it.
        whole: Gives the case with all lanes in it, for a run that draws random numbers.
    """

    count: int
    link: NDArray[np.int64]
    whole: Callable[[], SimulationCase]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnTraffic:
    """Transfers by seed.

    Attributes:
        transfers: Gives them.
        jobs: The name of each piece.
        notes: What a reader must know.
    """

    transfers: Callable[[int], Transfers]
    jobs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def apart_note(reason: str) -> str:
    """Return what to say where no lane stands for the others."""
    return f"every lane (GPUs of one place in their nodes) has its own messages: {reason}"
