"""Transfers, packet by packet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from netloom.engines.delivery import Delivery
from netloom.engines.native import PacketSimulation
from netloom.engines.packet.connections import gathered, spread
from netloom.engines.packet.lower import Watch, lowered
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.connections import Times
    from netloom.engines.packet.faults import Fault
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring import Wiring
    from netloom.workload.transfers import Transfers

__all__ = ["Progress", "run_packets"]

_CHUNK_EVENTS: Final = 500_000  # about a tenth of a second
_RUNNING, _DONE = 0, 1
_FOREVER_PS: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come."""

    simulated_ps: int
    events: int
    link_traversals: int
    num_unfinished: int


def run_packets(  # noqa: PLR0913
    wiring: Wiring,
    transfers: Transfers,
    settings: PacketSettings,
    *,
    seed: int = 0,
    until_ps: int | None = None,
    faults: Sequence[Fault] = (),
    watch: Watch | None = None,
    on_progress: Callable[[Progress], bool] | None = None,
) -> Delivery:
    """Return what becomes of *transfers* on *wiring*.

    Args:
        wiring: The network.
        transfers: What to move, and after what.
        settings: How everything behaves.
        seed: Of source ports (0 keeps those given), marking, spraying and losses; equal seeds give
            equal results.
        until_ps: End the run then, whatever is unfinished; by default it runs to its end.
        faults: What goes wrong, and when.
        watch: What to write down beside the totals.
        on_progress: Called some ten times a second; the run ends when it returns False.

    Raises:
        SpecError: a transfer, fault, parameter or watched link is wrong.
        InfeasibleError: a pair has no way, or a buffer cannot hold its headroom.
    """
    flows = spread(transfers, settings.connections, seed=seed)
    made = lowered(wiring, flows, settings, seed=seed, faults=faults, watch=watch or Watch())
    try:
        simulation = PacketSimulation(made.arrays, made.numbers, made.names, made.parameters)
    except ValueError as error:  # a parameter that the scheme does not have
        message = f"parameters: {error}; leave it out"
        raise SpecError(message) from error
    status = _run(simulation, _FOREVER_PS if until_ps is None else until_ps, on_progress)
    times = gathered(cast("Times", simulation.transfers()), transfers, settings.connections)
    return _delivery(simulation, times, made.priorities, done=status == _DONE)


def _run(
    simulation: PacketSimulation,
    until_ps: int,
    on_progress: Callable[[Progress], bool] | None,
) -> int:
    while True:
        status = simulation.run(until_ps, _CHUNK_EVENTS)
        if status != _RUNNING or simulation.now_ps() >= until_ps:
            return status
        if on_progress is not None and not on_progress(_progress(simulation)):
            return status


def _progress(simulation: PacketSimulation) -> Progress:
    counters = simulation.counters()
    return Progress(
        simulated_ps=simulation.now_ps(),
        events=counters["events"],
        link_traversals=counters["link_traversals"],
        num_unfinished=simulation.unfinished(),
    )


def _delivery(
    simulation: PacketSimulation, times: Times, priorities: tuple[int, ...], *, done: bool
) -> Delivery:
    pauses = cast("Columns", simulation.pauses())
    pauses["priority"] = np.array((0, *priorities), dtype=np.uint8)[pauses["lane"]]
    tables: dict[str, Columns] = {
        "arrivals": {"arrive_ps": times["arrive_ps"]},
        "pauses": pauses,
        "samples": cast("Columns", simulation.samples()),
        "trace": cast("Columns", simulation.trace()),
        "deadlock": {"link": simulation.deadlock()},
    }
    return Delivery(
        engine="packet",
        start_ps=times["start_ps"],
        finish_ps=times["finish_ps"],
        simulated_ps=simulation.now_ps(),
        link_bytes=simulation.link_bytes(),
        counters=simulation.counters(),
        tables={name: table for name, table in tables.items() if len(next(iter(table.values())))},
        partial=not done,
    )
