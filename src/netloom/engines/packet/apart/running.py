"""One simulation, run to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netloom.engines.native import PacketSimulation
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.frames import LinkFrames
    from netloom.engines.packet.lower import Lowered
    from netloom.engines.packet.settings import PacketSettings, Transport
    from netloom.engines.packet.states import StateStore
    from netloom.workload.transfers import Transfers

__all__ = [
    "KeptRun",
    "Progress",
    "RunEnds",
    "Stuck",
    "made_simulation",
    "progress_of",
    "run_to_end",
]

Stuck = Literal["", "deadlock", "silence"]

_CHUNK_EVENTS: Final = 500_000  # about a tenth of a second
_RUNNING, _DONE, _DEADLOCK = 0, 1, 3
_PATIENCE: Final = 1000  # timeouts without an arrival anywhere, after which no run goes on
_MIN_TIMEOUT_PS: Final = 1_000_000_000
_FOREVER_PS: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come."""

    simulated_ps: int
    events: int
    link_traversals: int
    delivered_bytes: int
    num_unfinished: int


def made_simulation(made: Lowered) -> PacketSimulation:
    """Return a simulation that has not begun."""
    try:
        return PacketSimulation(made.arrays, made.numbers, made.names, made.parameters)
    except ValueError as error:  # a parameter that the scheme does not have
        raise SpecError(key="parameters", what=str(error), remedy="leave it out") from error


def run_to_end(
    simulation: PacketSimulation,
    ends: RunEnds,
    on_progress: Callable[[Progress], bool] | None,
    frames: LinkFrames | None = None,
    kept: KeptRun | None = None,
) -> Stuck | None:
    """Run to the end, the time asked for or a stop; return why it stopped, None at its end."""
    until_ps, silence = ends.until_ps, ends.silence()
    while True:
        bound_ps = until_ps if frames is None else min(until_ps, frames.next_ps)
        status = simulation.run(bound_ps, _CHUNK_EVENTS)
        if status == _DONE:
            return None
        if status != _RUNNING:
            return "deadlock" if status == _DEADLOCK else "silence"
        if frames is not None and simulation.now_ps() >= frames.next_ps:
            frames.look(simulation)
        if simulation.now_ps() >= until_ps:
            return ""
        if silence is not None and silence.too_long(simulation):
            return "silence"
        if kept is not None and kept.states.is_due():
            kept.keep()
        if on_progress is not None and not on_progress(progress_of(simulation)):
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnds:
    """What ends a run before all has arrived.

    Attributes:
        asked_ps: The time to end at; None: silence ends it.
        patience_ps: How long that may last.
        last_ps: When the last thing comes by itself.
    """

    asked_ps: int | None
    patience_ps: int
    last_ps: int

    @classmethod
    def of(
        cls,
        until_ps: int | None,
        transfers: Transfers,
        settings: PacketSettings,
        faults: Sequence[PacketFault],
    ) -> RunEnds:
        """Return what ends a run of *transfers*."""
        return cls(
            asked_ps=until_ps,
            patience_ps=_patience_ps(settings.transport, transfers),
            last_ps=_last_ps(transfers, faults),
        )

    @property
    def until_ps(self) -> int:
        """The time to end at, however late."""
        return _FOREVER_PS if self.asked_ps is None else self.asked_ps

    def silence(self) -> _Silence | None:
        """Return what listens for silence, where that ends a run."""
        return _Silence(self.patience_ps, self.last_ps) if self.asked_ps is None else None


def _patience_ps(host: Transport, transfers: Transfers) -> int:
    timeout_ps = max(host.timeout_ps, _MIN_TIMEOUT_PS)
    doubled_ps = 10 * timeout_ps << host.max_doublings
    return _PATIENCE * timeout_ps + doubled_ps + int(transfers.delay_ps.max(initial=0))


def _last_ps(transfers: Transfers, faults: Sequence[PacketFault]) -> int:
    """Return when the last transfer starts or the last fault happens."""
    last_fault_ps = max((fault.when_ps for fault in faults), default=0)
    return max(int(transfers.start_ps.max(initial=0)), last_fault_ps)


@dataclass(slots=True)
class _Silence:
    """How long nothing has arrived.

    Attributes:
        patience_ps: How long that may last.
        since_ps: From when on it counts: the last arrival that was noted, or the last thing that
            comes by itself, such as a start or the end of a fault.
    """

    patience_ps: int
    since_ps: int
    _arrived: tuple[int, int] = (-1, -1)

    def too_long(self, simulation: PacketSimulation) -> bool:
        """Return whether there is no hope; called now and then."""
        now_ps, delivered = simulation.now_ps(), simulation.counters()["delivered_bytes"]
        arrived = delivered, simulation.unfinished()  # computations end without a byte
        if arrived != self._arrived:
            self._arrived, self.since_ps = arrived, max(now_ps, self.since_ps)
        return now_ps - self.since_ps > self.patience_ps


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A simulation, and where its state is kept."""

    simulation: PacketSimulation
    states: StateStore
    key: str

    def go_on(self) -> None:
        """Restore the state that was kept, if any was."""
        state = self.states.find(self.key)
        if state is not None:
            self.simulation.restore(state)

    def keep(self) -> None:
        """Keep the state of now."""
        self.states.keep(self.key, self.simulation.snapshot())


def progress_of(simulation: PacketSimulation) -> Progress:
    """Return how far a simulation has come."""
    counters = simulation.counters()
    return Progress(
        simulated_ps=simulation.now_ps(),
        events=counters["events"],
        link_traversals=counters["link_traversals"],
        delivered_bytes=counters["delivered_bytes"],
        num_unfinished=simulation.unfinished(),
    )
