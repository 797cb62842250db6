"""Transfers, packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeGuard, cast

import numpy as np

from netloom.engines.delivery import Delivery
from netloom.engines.native import PacketSimulation
from netloom.engines.packet.connections import gathered, num_connections, num_parts, spread
from netloom.engines.packet.frames import LinkFrames
from netloom.engines.packet.lower import Recording, lowered
from netloom.errors import SpecError
from netloom.workload.connections import shared_connections
from netloom.workload.transfers import check_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.connections import Times
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings, Transport
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["Progress", "run_packets"]

Stuck = Literal["", "deadlock", "silence"]

_CHUNK_EVENTS: Final = 500_000  # about a tenth of a second
# As core/include/netloom/packet/packet.hpp numbers them: forms, and bits of flags.
_FORMS: Final = ("data", "ack", "nack", "cnp", "pull", "ask", "told")
_MARKED, _TRIMMED, _AGAIN = 1, 2, 8
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


def run_packets(  # noqa: PLR0913
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    *,
    seed: int = 0,
    until_ps: int | None = None,
    faults: Sequence[PacketFault] = (),
    watch: Recording | None = None,
    on_progress: Callable[[Progress], bool] | None = None,
) -> Delivery:
    """Return what becomes of *transfers* on *wiring*.

    Args:
        wiring: The network.
        transfers: What to move, and after what.
        settings: How everything behaves.
        seed: Of source ports (0 keeps those given), marking, spraying and losses; equal seeds give
            equal results.
        until_ps: End the run then, whatever is unfinished; by default it runs to its end, or until
            nothing has arrived anywhere for a thousand timeouts and nothing new is due.
        faults: What goes wrong, and when.
        watch: What to write down beside the totals.
        on_progress: Called some ten times a second; the run ends when it returns False.

    Raises:
        SpecError: a transfer, fault, parameter or watched link is wrong.
        InfeasibleError: a pair has no way, or a buffer cannot hold its headroom.
    """
    check_transfers(transfers, wiring.num_endpoints, with_computations=True)
    connections = num_connections(wiring, transfers, settings)
    flows = spread(transfers, connections, seed=seed)
    made = lowered(
        wiring,
        flows,
        settings,
        seed=seed,
        faults=faults,
        watch=watch or Recording(),
        # By the ports that transfers have: those drawn for hashing may be alike by chance.
        connection=shared_connections(transfers, num_parts(transfers, connections)),
    )
    try:
        simulation = PacketSimulation(made.arrays, made.numbers, made.names, made.parameters)
    except ValueError as error:  # a parameter that the scheme does not have
        raise SpecError(key="parameters", what=str(error), remedy="leave it out") from error
    begun = simulation.num_draws()
    frames = LinkFrames(watch.frame_ps, len(wiring.link_source)) if _films(watch) else None
    if until_ps is None:
        silence = _Silence(_patience_ps(settings.transport, transfers), _last_ps(transfers, faults))
        stuck = _run(simulation, _FOREVER_PS, on_progress, silence, frames)
    else:
        stuck = _run(simulation, until_ps, on_progress, frames=frames)
    times = gathered(cast("Times", simulation.transfers()), transfers, connections)
    trace = _trace(simulation, num_parts(transfers, connections))
    found = _delivery(simulation, times, made.priorities, trace, stuck=stuck)
    found = replace(found, num_draws=simulation.num_draws() - begun)
    if frames is None:
        return found
    used = frames.table(wiring.link_rate_bps, found.link_bytes)
    return replace(found, tables={**found.tables, "utilisation": used})


def _films(watch: Recording | None) -> TypeGuard[Recording]:
    return watch is not None and watch.frame_ps > 0


def _trace(simulation: PacketSimulation, count: NDArray[np.int64]) -> Columns:
    """Return departures with the transfer and the connection of it that each packet belongs to."""
    table = cast("Columns", simulation.trace())
    flow = table["transfer"].astype(np.int64)  # the core knows connections alone
    if not len(flow):
        return table
    flags = table["flags"].astype(np.int64)
    begin = np.cumsum(count) - count
    transfer = np.repeat(np.arange(len(count)), count)[flow]
    return {
        "when_ps": table["when_ps"],
        "link": table["link"],
        "transfer": transfer,
        "connection": flow - begin[transfer],
        "offset": table["offset"],
        "size_bytes": table["size_bytes"],
        "form": np.array(_FORMS)[table["form"].astype(np.int64)],
        "marked": (flags & _MARKED) != 0,
        "trimmed": (flags & _TRIMMED) != 0,
        "again": (flags & _AGAIN) != 0,
    }


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


def _patience_ps(host: Transport, transfers: Transfers) -> int:
    timeout_ps = max(host.timeout_ps, _MIN_TIMEOUT_PS)
    doubled_ps = 10 * timeout_ps << host.max_doublings
    return _PATIENCE * timeout_ps + doubled_ps + int(transfers.delay_ps.max(initial=0))


def _last_ps(transfers: Transfers, faults: Sequence[PacketFault]) -> int:
    """Return when the last transfer starts or the last fault happens."""
    last_fault_ps = max((fault.when_ps for fault in faults), default=0)
    return max(int(transfers.start_ps.max(initial=0)), last_fault_ps)


def _run(
    simulation: PacketSimulation,
    until_ps: int,
    on_progress: Callable[[Progress], bool] | None,
    silence: _Silence | None = None,
    frames: LinkFrames | None = None,
) -> Stuck | None:
    """Run to the end, *until_ps* or a stop; return why it stopped by itself, None at its end."""
    while True:
        bound_ps = until_ps if frames is None else min(until_ps, frames.next_ps)
        status = simulation.run(bound_ps, _CHUNK_EVENTS)
        if status == _DONE:
            return None
        if status != _RUNNING:
            return "deadlock" if status == _DEADLOCK else "silence"
        if frames is not None and simulation.now_ps() >= frames.next_ps:
            frames.take(simulation.link_bytes())
        if simulation.now_ps() >= until_ps:
            return ""
        if silence is not None and silence.too_long(simulation):
            return "silence"
        if on_progress is not None and not on_progress(_progress(simulation)):
            return ""


def _progress(simulation: PacketSimulation) -> Progress:
    counters = simulation.counters()
    return Progress(
        simulated_ps=simulation.now_ps(),
        events=counters["events"],
        link_traversals=counters["link_traversals"],
        delivered_bytes=counters["delivered_bytes"],
        num_unfinished=simulation.unfinished(),
    )


def _delivery(
    simulation: PacketSimulation,
    times: Times,
    priorities: tuple[int, ...],
    trace: Columns,
    *,
    stuck: Stuck | None,
) -> Delivery:
    pauses = cast("Columns", simulation.pauses())
    pauses["priority"] = np.array((0, *priorities), dtype=np.uint8)[pauses["lane"]]
    tables: dict[str, Columns] = {
        "arrivals": {"arrive_ps": times["arrive_ps"]},
        "pauses": pauses,
        "samples": cast("Columns", simulation.samples()),
        "trace": trace,
        "deadlock": {"link": simulation.deadlock()},
        "queue_peaks": _queue_peaks(simulation, priorities),
    }
    return Delivery(
        engine="packet",
        start_ps=times["start_ps"],
        finish_ps=times["finish_ps"],
        simulated_ps=simulation.now_ps(),
        link_bytes=simulation.link_bytes(),
        counters={**simulation.counters(), **simulation.timing_counters()},
        tables={name: table for name, table in tables.items() if len(next(iter(table.values())))},
        partial=stuck is not None,
        stuck=stuck or "",
    )


def _queue_peaks(simulation: PacketSimulation, priorities: tuple[int, ...]) -> Columns:
    """Return the most that waited for each link and priority, on the wire; empty where untimed."""
    peaks = simulation.queue_peaks()
    links = np.arange(len(peaks)) // (1 + len(priorities))
    lanes = np.arange(len(peaks)) % (1 + len(priorities))
    data = lanes > 0
    return {
        "link": links[data],
        "priority": np.array((0, *priorities), dtype=np.uint8)[lanes[data]],
        "peak_bytes": peaks[data],
    }
