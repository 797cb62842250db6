"""Collectives as phases: steps that all look alike are worked out once and multiplied.

In a phase every flow starts at once, and the next step begins when the last has arrived. A ring
of n ranks is one phase of n flows that is repeated: its steps differ in what they carry, not in
where it goes. Where flows of one phase are alike for every node, one node's stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.routes import Ground, ground
from netloom.engines.flow.run import deliver, lay
from netloom.engines.flow.settings import FlowSettings
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.wiring import Wiring

__all__ = ["Phase", "PhaseTime", "Phases", "at_once", "run_phases"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Phase:
    """Flows that start together, and how often they do.

    Attributes:
        name: For messages and explanations.
        source: Endpoint that sends.
        target: Endpoint that receives.
        source_port: The connection's entropy for hashing.
        size_bytes: What each flow carries in one step.
        repeats: Steps that look like this one.
    """

    name: str
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    source_port: NDArray[np.uint16]
    size_bytes: NDArray[np.int64]
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """How long one phase took.

    Attributes:
        step_s: One step, to the arrival of its last flow.
        bottleneck: Link that held back the flow that ended last; -1 when none did.
        sharers: Flows that shared that link when it ended.
    """

    name: str
    repeats: int
    step_s: float
    num_flows: int
    bottleneck: int
    sharers: int

    @property
    def duration_s(self) -> float:
        """All steps."""
        return self.repeats * self.step_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """How long phases take one after the other."""

    phases: tuple[PhaseTime, ...]

    @property
    def duration_s(self) -> float:
        """All phases."""
        return sum(phase.duration_s for phase in self.phases)


def run_phases(
    network: Fabric | Wiring | Ground,
    phases: tuple[Phase, ...],
    settings: FlowSettings | None = None,
    *,
    seed: int = 0,
) -> Phases:
    """Return how long *phases* take one after the other on *network*.

    Raises:
        SpecError: as :func:`netloom.engines.flow.run.run_flows`.
        InfeasibleError: as :func:`netloom.engines.flow.run.run_flows`.
    """
    on = network if isinstance(network, Ground) else ground(network)
    used = settings or FlowSettings()
    return Phases(phases=tuple(_time(on, phase, used, seed=seed) for phase in phases))


def _time(on: Ground, phase: Phase, settings: FlowSettings, *, seed: int) -> PhaseTime:
    transfers = at_once(
        phase.source, phase.target, size_bytes=phase.size_bytes, source_port=phase.source_port
    )
    delivery = deliver(lay(on, transfers, settings, seed=seed))
    last = int(np.argmax(delivery.finish_ps))
    held = delivery.tables["bottlenecks"]
    return PhaseTime(
        name=phase.name,
        repeats=phase.repeats,
        step_s=float(delivery.finish_ps[last]) * 1e-12,
        num_flows=delivery.counters["flows"],
        bottleneck=int(held["link"][last]),
        sharers=int(held["sharers"][last]),
    )


def at_once(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    *,
    size_bytes: NDArray[np.int64] | int,
    source_port: NDArray[np.uint16] | int = 0xC000,
) -> Transfers:
    """Return transfers that all start at once and wait for nothing."""
    count = len(source)
    zero = np.zeros(count, dtype=np.int64)
    return Transfers(
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        size_bytes=np.broadcast_to(np.asarray(size_bytes, dtype=np.int64), count),
        start_ps=zero,
        delay_ps=zero,
        source_port=np.broadcast_to(np.asarray(source_port, dtype=np.uint16), count),
        priority=np.zeros(count, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.zeros(count + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )
