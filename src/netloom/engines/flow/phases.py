"""Collectives as phases: steps that all look alike are worked out once and multiplied.

In a phase every flow starts at once, and the next step begins when the last has arrived. A ring
of n ranks is one phase of n flows that is repeated: its steps differ in what they carry, not in
where it goes. Where flows of one phase are alike for every node, one node's stand for all.

Equal flows that start together need no events at all. The most loaded link gives its flows their
even share to the end, since whatever they meet elsewhere is faster and ends sooner; so the last
flow ends when that link has carried its load. Such a phase is routed in pieces, and its memory
does not grow with its flows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.routes import Ground, ground
from netloom.engines.flow.run import deliver, lay
from netloom.engines.flow.settings import FlowSettings
from netloom.errors import SpecError
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Phase", "PhaseTime", "Phases", "at_once", "run_phases"]

PIECE: Final = 1 << 17  # transfers routed at a time
_NUM_THREADS: Final = 2  # numpy leaves the interpreter to the other for most of the routing


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
        bottleneck: Link that held back the flow that ended last.
        sharers: Flows that shared that link to the end.
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
    network: Fabric | PacketTopology | Ground,
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
    if not len(phase.source):
        raise SpecError(what=f"phase {phase.name!r}: it has no flows", remedy="leave it out")
    equal = bool((phase.size_bytes == phase.size_bytes[0]).all())
    return (_by_load if equal else _by_events)(on, phase, settings, seed=seed)


def _transfers(phase: Phase, piece: slice) -> Transfers:
    return at_once(
        phase.source[piece],
        phase.target[piece],
        size_bytes=phase.size_bytes[piece],
        source_port=phase.source_port[piece],
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Load:
    """What some flows put on the links."""

    bits: NDArray[np.float64]
    flows_on: NDArray[np.int64]
    latency_ps: int
    num_flows: int


def _by_load(on: Ground, phase: Phase, settings: FlowSettings, *, seed: int) -> PhaseTime:
    """Return the time of equal flows; the latency is that of the longest way among them."""
    bits = np.zeros(len(on.link_rate_bps))
    flows_on = np.zeros(len(bits), dtype=np.int64)
    latency_ps = num_flows = 0

    def load(begin: int) -> _Load:
        return _load(on, _transfers(phase, slice(begin, begin + PIECE)), settings, seed=seed)

    # Pieces are added up in their order, whichever thread is done first.
    with ThreadPoolExecutor(max_workers=_NUM_THREADS) as pool:
        for piece in pool.map(load, range(0, len(phase.source), PIECE)):
            bits += piece.bits
            flows_on += piece.flows_on
            latency_ps = max(latency_ps, piece.latency_ps)
            num_flows += piece.num_flows
    time_s = bits / on.capacity_bps(settings)
    worst = int(np.argmax(time_s))
    return PhaseTime(
        name=phase.name,
        repeats=phase.repeats,
        step_s=float(time_s[worst]) + latency_ps * 1e-12,
        num_flows=num_flows,
        bottleneck=worst,
        sharers=int(flows_on[worst]),
    )


def _load(on: Ground, transfers: Transfers, settings: FlowSettings, *, seed: int) -> _Load:
    laid = lay(on, transfers, settings, seed=seed)
    num_links = len(on.link_rate_bps)
    flows_on = np.bincount(
        laid.ways.links,
        np.repeat(np.bincount(laid.route_set), laid.parts)[laid.ways.owner()],
        minlength=num_links,
    )
    return _Load(
        bits=laid.ways.load(
            laid.of_ways(transfers.size_bytes.astype(np.float64) * 8), num_links=num_links
        ),
        flows_on=laid.ways.of_all(flows_on.astype(np.int64)),
        latency_ps=int(laid.latency_ps.max()),
        num_flows=len(transfers) * laid.parts,
    )


def _by_events(on: Ground, phase: Phase, settings: FlowSettings, *, seed: int) -> PhaseTime:
    delivery = deliver(lay(on, _transfers(phase, slice(None)), settings, seed=seed))
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
