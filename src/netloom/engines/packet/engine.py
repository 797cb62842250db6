"""Transfers, packet by packet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeGuard, cast

import numpy as np

from netloom.engines.delivery import Delivery
from netloom.engines.native import PacketSimulation
from netloom.engines.packet.apart.components import components_of
from netloom.engines.packet.apart.run import Ran, run_apart
from netloom.engines.packet.apart.running import (
    KeptRun,
    Progress,
    RunEnds,
    made_simulation,
    run_to_end,
)
from netloom.engines.packet.apart.side_by_side import SideBySide, in_order
from netloom.engines.packet.connections import gathered, num_connections, num_parts, spread
from netloom.engines.packet.core_rows import CoreRows
from netloom.engines.packet.frames import LinkFrames
from netloom.engines.packet.lower import Recording, lowered
from netloom.engines.packet.states import content_key
from netloom.workload.connections import shared_connections
from netloom.workload.transfers import check_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.apart.components import Components
    from netloom.engines.packet.connections import Times
    from netloom.engines.packet.core_rows import KnownTimes
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.lower import Lowered
    from netloom.engines.packet.settings import PacketSettings
    from netloom.engines.packet.states import StateStore
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["Progress", "run_packets"]

# As core/include/netloom/packet/packet.hpp numbers them: forms, and bits of flags.
_FORMS: Final = ("data", "ack", "nack", "cnp", "pull", "ask", "told")
_MARKED, _TRIMMED, _AGAIN = 1, 2, 8


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
    known: KnownTimes | None = None,
    states: StateStore | None = None,
    num_workers: int = 1,
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
        known: Messages that are not moved, and how long they take.
        states: Where the run is kept, and gone on with if it was stopped; not where it is filmed.
        num_workers: Threads over which components that share nothing are spread; results are the
            same whatever their number. A run that is traced, filmed or kept takes one.

    Raises:
        SpecError: a transfer, fault, parameter or watched link is wrong.
        InfeasibleError: a pair has no way, or a buffer cannot hold its headroom.
    """
    check_transfers(transfers, wiring.num_endpoints, with_computations=True)
    components = None if known is not None else _several(wiring, transfers, settings)
    seen = watch or Recording()
    connections = num_connections(wiring, transfers, settings)
    rows = CoreRows.of(transfers, known)
    count = num_parts(rows.transfers, connections)
    made = lowered(
        wiring,
        spread(rows.transfers, connections, seed=seed),
        settings,
        seed=seed,
        faults=faults,
        watch=seen,
        num_moved=int(count[: rows.num_moved].sum()),
        known=rows.arrays(count),
        # By the ports that transfers have: those drawn for hashing may be alike by chance.
        connection=shared_connections(
            rows.transfers.first(rows.num_moved), count[: rows.num_moved]
        ),
        component=None if components is None else components.link.astype(np.uint32),
    )
    ends = RunEnds.of(until_ps, transfers, settings, faults)
    ran = None
    if components is not None and num_workers > 1 and not _is_whole(seen, states):
        component = components.transfer if rows.order is None else components.transfer[rows.order]
        several = replace(components, transfer=np.repeat(component, count))
        ran = run_apart(made, several, ends, on_progress, num_parts=num_workers)
    if ran is None:
        frames = LinkFrames(seen.frame_ps, len(wiring.link_source)) if _films(watch) else None
        ran = _run_whole(
            made, ends, on_progress, frames, states, has_several=components is not None
        )
    simulation = ran.simulation
    times = gathered(cast("Times", simulation.transfers()), rows.transfers, connections)
    times = {name: rows.as_given(column) for name, column in times.items()}
    trace = _trace(simulation, rows, count)
    found = _delivery(ran, times, made.priorities, trace)
    if components is not None:
        found = _of_several(found, components.count, max_pauses=seen.max_pauses)
    if known is not None:
        assert isinstance(simulation, PacketSimulation)
        slowed: Columns = {"transfer": _slowed(simulation, rows, count)}
        found = replace(found, tables={**found.tables, "slowed": slowed})
    if ran.frames is None:
        return found
    used = ran.frames.table(wiring.link_rate_bps, found.link_bytes)
    return replace(found, tables={**found.tables, "utilisation": used})


def _several(
    wiring: PacketTopology, transfers: Transfers, settings: PacketSettings
) -> Components | None:
    """Return the components of a run that has several."""
    found = components_of(wiring, transfers, settings)
    return found if found.count > 1 else None


def _is_whole(watch: Recording, states: StateStore | None) -> bool:
    """Return whether a run stays in one simulation, whose order or state is asked for."""
    return bool(watch.max_trace or watch.frame_ps or states is not None)


def _run_whole(
    made: Lowered,
    ends: RunEnds,
    on_progress: Callable[[Progress], bool] | None,
    frames: LinkFrames | None,
    states: StateStore | None,
    *,
    has_several: bool,
) -> Ran:
    """Run all components in one simulation."""
    simulation = made_simulation(made)
    begun = simulation.num_draws()
    kept = None
    if states is not None and frames is None:
        key = content_key(made.arrays, made.numbers, made.names, made.parameters, ends.asked_ps)
        kept = KeptRun(simulation, states, key)
        kept.go_on()
    stuck = run_to_end(simulation, ends, on_progress, frames, kept)
    if stuck is None and has_several:  # as others end: with all that is due in that picosecond
        simulation.settle(simulation.now_ps())
    if kept is not None:
        kept.keep()
    num_draws = simulation.num_draws() - begun
    return Ran(simulation=simulation, stuck=stuck, num_draws=num_draws, frames=frames)


def _of_several(found: Delivery, num_components: int, *, max_pauses: int) -> Delivery:
    """Return what several components did, without what only one simulation of all could tell."""
    counters = {
        name: count for name, count in found.counters.items() if name != "most_packets_in_flight"
    }
    tables = dict(found.tables)
    if "pauses" in tables:
        tables["pauses"] = in_order(tables["pauses"], total=counters["pauses"], most=max_pauses)
    return replace(found, num_components=num_components, counters=counters, tables=tables)


def _films(watch: Recording | None) -> TypeGuard[Recording]:
    return watch is not None and watch.frame_ps > 0


def _trace(
    simulation: PacketSimulation | SideBySide, rows: CoreRows, count: NDArray[np.int64]
) -> Columns:
    """Return departures with the transfer and the connection of it that each packet belongs to."""
    table = cast("Columns", simulation.trace())
    flow = table["transfer"].astype(np.int64)  # the core knows connections alone
    if not len(flow):
        return table
    flags = table["flags"].astype(np.int64)
    begin = np.cumsum(count) - count
    row = np.repeat(np.arange(len(count)), count)[flow]
    return {
        "when_ps": table["when_ps"],
        "link": table["link"],
        "transfer": row if rows.order is None else rows.order[row],
        "connection": flow - begin[row],
        "offset": table["offset"],
        "size_bytes": table["size_bytes"],
        "form": np.array(_FORMS)[table["form"].astype(np.int64)],
        "marked": (flags & _MARKED) != 0,
        "trimmed": (flags & _TRIMMED) != 0,
        "again": (flags & _AGAIN) != 0,
    }


def _slowed(
    simulation: PacketSimulation, rows: CoreRows, count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the transfers that congestion control slowed down, of any of their connections."""
    row = np.repeat(np.arange(rows.num_moved), count[: rows.num_moved])
    slowed = np.unique(row[simulation.slowed() != 0])
    return slowed if rows.order is None else rows.order[slowed]


def _delivery(ran: Ran, times: Times, priorities: tuple[int, ...], trace: Columns) -> Delivery:
    simulation = ran.simulation
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
        partial=ran.stuck is not None,
        stuck=ran.stuck or "",
        num_parts=len(simulation.parts) if isinstance(simulation, SideBySide) else 1,
        num_draws=ran.num_draws,
        notes=ran.notes,
    )


def _queue_peaks(simulation: PacketSimulation | SideBySide, priorities: tuple[int, ...]) -> Columns:
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
