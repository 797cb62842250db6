"""Something to simulate, and its traffic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.delivery import Delivery
    from netloom.study.simulate.runner import SimulationRunner
    from netloom.study.simulate.step_run import StepRun
    from netloom.workload.transfers import Transfers

__all__ = ["DrawnTraffic", "SimulationCase"]


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
    """

    title: str
    technology: str
    runner: SimulationRunner
    traffic: Callable[[int], Transfers]
    jobs: tuple[str, ...] = ("all",)
    notes: tuple[str, ...] = field(default=())
    step: Callable[[Transfers, Delivery], StepRun] | None = None


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
