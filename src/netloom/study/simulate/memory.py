"""How much memory a simulation takes, before it is taken.

The coefficients are bytes of the records that the engines keep and of the columns they are made
from, fitted to peak resident memory (docs/simulate.md has the command and the comparison).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.memory import available_bytes
from netloom.errors import InfeasibleError
from netloom.fabric.wiring.wiring import PacketTopology
from netloom.study.simulate.traffic_size import Size
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from netloom.study.simulate.flow import FlowRunner
    from netloom.study.simulate.packet import PacketRunner
    from netloom.study.simulate.runner import SimulationRunner

__all__ = ["Need", "check_drawing", "check_fits", "check_table", "need_of", "size_of_drawn"]

_DRAWN, _DRAWN_WAIT = 157, 40  # a transfer and a wait while they are laid out
_HELD, _HELD_WAIT = 46, 4  # their columns
_KEPT: Final = 130  # a transfer and its times once it is over
_LINK: Final = 900
_ONCE: Final = 18 << 20  # what a process takes once: events, samples, code that is loaded late
# Packet engine: a transfer, each of its connections, each pair of connections that wait, what is
# added while one is open, and the entropy state of a sprayed one.
_TRANSFER, _FLOW, _WAIT, _OPEN, _SPRAY = 100, 328, 36, 117, 200
_PACKET: Final = 64  # core/include/netloom/packet/packet.hpp
_MAX_PACKETS: Final = 1000  # in flight for each endpoint, or 64 for each open connection
_OPEN_PACKETS: Final = 64
_SHORT_RING: Final = 4096  # packets tracked of a flow inside a site; half of it in flight
# A departure in the trace: at the peak, when columns are made of it, and in them.
_TRACED, _TRACED_KEPT = 125, 56
_MAX_DEPARTURES: Final = 32  # of a packet, of its answer and of their repetitions, over all links
_PIECES: Final = 9  # of a full packet in a scheduled fabric
# Flow engine: a transfer, each link of each way (once for transfers that share it), a wait, a link.
_FLUID, _ENTRY, _FLUID_WAIT, _FLUID_LINK = 180, 84, 40, 2400
_SAMPLE: Final = 64  # transfers whose ways are looked at
_WINDOW_PS: Final = 200_000_000  # transfers that start within this are open together
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What runs take.

    Attributes:
        fixed_bytes: The network, shared by all.
        run_bytes: A run at its peak.
        kept_bytes: A run's results.
        held_bytes: What of all this is there already: the network, and one run's transfers.
        part_bytes: What each further part of a run takes, of those that are run side by side: the
            core's network once more, and columns of its transfers.
    """

    fixed_bytes: int
    run_bytes: int
    kept_bytes: int
    held_bytes: int = 0
    part_bytes: int = 0

    def peak_bytes(self, *, num_runs: int = 1, num_workers: int = 1) -> int:
        """Return what *runs* take, of which *at_once* are under way at a time."""
        under_way = min(num_runs, num_workers)
        kept = (num_runs - under_way) * self.kept_bytes
        return self.fixed_bytes + under_way * self.run_bytes + kept

    def most_workers(self, have_bytes: int, *, num_runs: int) -> int:
        """Return how many of these runs fit at a time; 0 where not even one does."""
        left = have_bytes + self.held_bytes - self.fixed_bytes - num_runs * self.kept_bytes
        each = max(self.run_bytes - self.kept_bytes, 1)
        return int(min(max(left // each, 0), num_runs))

    def most_parts(self, have_bytes: int, *, num_runs: int, num_workers: int) -> int:
        """Return in how many parts each run may go, so that workers are busy and all fits."""
        under_way = min(num_runs, num_workers)
        left = have_bytes + self.held_bytes
        left -= self.peak_bytes(num_runs=num_runs, num_workers=num_workers)
        fit = 1 + max(left, 0) // max(under_way * self.part_bytes, 1)
        return int(min(num_workers // under_way, fit))


def check_drawing(size: Size, *, engine: str, connections: int = 1) -> None:
    """Raise unless transfers of this size can be drawn and put into an engine's books.

    Raises:
        InfeasibleError: there is not enough memory.
    """
    books = _books(size, connections) if engine == "packet" else _fluid_books(size)
    need = max(_drawing(size), books)
    have = available_bytes()
    if need > have:
        raise InfeasibleError(
            key="traffic",
            what=(
                f"{size.transfers:,} transfers need about {_gib(need)} GiB, and "
                f"{_gib(have)} GiB are free"
            ),
            remedy=_remedy(engine, flows=_fluid_books(size) <= have),
        )


def check_table(num_vertices: int, num_goals: int) -> None:
    """Raise unless a table of ways from each vertex to each goal can be kept, and copied to run.

    Raises:
        InfeasibleError: there is not enough memory.
    """
    need, have = 3 * 4 * num_vertices * num_goals, available_bytes()
    if need > have:
        raise InfeasibleError(
            key="cluster",
            what=(
                f"ways from {num_vertices:,} vertices to {num_goals:,} endpoints need "
                f"about {_gib(need)} GiB, and {_gib(have)} GiB are free"
            ),
            remedy=(
                "simulate fewer GPUs, or keep traffic out of nodes, so that a leaf's "
                "endpoints share their ways"
            ),
        )


def check_fits(need: Need, *, engine: str, num_runs: int, num_workers: int) -> int:
    """Return in how many parts each of the runs may go, the given number of workers at a time.

    Raises:
        InfeasibleError: they do not; the message says how many would.
    """
    have = available_bytes()
    wanted = need.peak_bytes(num_runs=num_runs, num_workers=num_workers) - need.held_bytes
    if wanted <= have:
        return need.most_parts(have, num_runs=num_runs, num_workers=num_workers)
    fit = need.most_workers(have, num_runs=num_runs)
    runs = f"{num_runs} runs, {min(num_runs, num_workers)} at a time" if num_runs > 1 else "the run"
    remedy = f"run {fit} at a time" if fit else _remedy(engine)
    raise InfeasibleError(
        key="memory",
        what=f"{runs} would need about {_gib(wanted)} GiB more, and {_gib(have)} GiB are free",
        remedy=remedy,
    )


def need_of(runner: SimulationRunner, transfers: Transfers) -> Need:
    """Return what a run of *transfers* takes, beside what every process does.

    Raises:
        NetloomError: a transfer has no way.
    """
    packets = _of_name(runner)
    if packets is not None:
        transfers = packets.what_runs(transfers)
    size = size_of_drawn(transfers)
    own = _of_flows if packets is None else _of_packets
    fixed, run, part = own(runner, transfers, size)  # type: ignore[arg-type]
    traced = 0 if packets is None else _traced(packets, transfers)
    return Need(
        fixed_bytes=_ONCE + fixed,
        run_bytes=max(run, _drawing(size)) + traced * _TRACED,
        kept_bytes=size.transfers * _KEPT + traced * _TRACED_KEPT,
        held_bytes=fixed // 2 + size.transfers * _HELD + size.waits * _HELD_WAIT,
        part_bytes=part,
    )


def _of_name(runner: SimulationRunner) -> PacketRunner | None:
    """Return a runner of packets as one; None for others, which need no native code of packets."""
    if runner.name != "packet":
        return None
    from netloom.study.simulate.packet import PacketRunner  # noqa: PLC0415  (native code)

    return runner if isinstance(runner, PacketRunner) else None


def _traced(runner: PacketRunner, transfers: Transfers) -> int:
    """Return how many departures a trace may hold."""
    packets = int((-(-transfers.size_bytes // runner.payload_bytes)).sum())
    return min(runner.max_trace, _MAX_DEPARTURES * packets)


def size_of_drawn(transfers: Transfers) -> Size:
    """Return how many *transfers* and waits there are."""
    return Size(transfers=len(transfers), waits=len(transfers.waits))


def _drawing(size: Size) -> int:
    return size.transfers * _DRAWN + size.waits * _DRAWN_WAIT


def _books(size: Size, connections: int) -> int:
    flows = size.transfers * (_TRANSFER + connections * _FLOW)
    return flows + size.waits * connections**2 * _WAIT


def _fluid_books(size: Size) -> int:
    return size.transfers * (_FLUID + 2 * _ENTRY) + size.waits * _FLUID_WAIT


def _of_packets(runner: PacketRunner, transfers: Transfers, size: Size) -> tuple[int, int, int]:
    from netloom.engines.packet.connections import num_connections  # noqa: PLC0415
    from netloom.engines.packet.rings import in_flight_packets, ring_packets  # noqa: PLC0415

    wiring, settings = runner.wiring, runner.settings
    host = settings.transport
    connections = num_connections(wiring, transfers, settings)
    num_open = _most_open(transfers) * connections
    rings = 0
    if host.recovery != "go-back-n":
        tracked = ring_packets(wiring, transfers, settings)
        # Two rings at the sender and one at the receiver, of which short messages touch little.
        rings = (2 if tracked <= _SHORT_RING else 3) * tracked // 8
    spray = 0 if settings.spray == "fixed" else _SPRAY
    way = in_flight_packets(wiring, transfers, settings)
    each, one = (max(least, way) for least in (_MAX_PACKETS, _OPEN_PACKETS))
    if way <= _SHORT_RING // 2:
        each, one = _MAX_PACKETS, _OPEN_PACKETS
    packets = min(each * wiring.num_endpoints, one * num_open)
    if settings.flow_control == "scheduled":
        packets *= _PIECES
    table = wiring.choices.nbytes
    copies = 2.5 if settings.balance in {"adaptive", "cells"} else 2.0
    run = _books(size, connections) + num_open * (_OPEN + rings + spray)
    columns = connections * size.transfers * _HELD + connections**2 * size.waits * _HELD_WAIT
    part = _LINK * wiring.num_links + copies * table + columns
    whole = run + packets * _PACKET + copies * table
    return _LINK * wiring.num_links + table, int(whole), int(part)


def _of_flows(runner: FlowRunner, transfers: Transfers, size: Size) -> tuple[int, int, int]:
    from netloom.engines.flow.route_sets import route_sets  # noqa: PLC0415
    from netloom.engines.flow.routes import ground  # noqa: PLC0415  (native code)
    from netloom.engines.flow.run import lay  # noqa: PLC0415  (native code)

    on = ground(runner.network)
    laid = lay(on, _some(transfers), runner.settings)
    sets = len(route_sets(on, transfers, runner.settings, parts=laid.parts).first)
    entries = len(laid.ways.links) / max(len(laid.weight), 1)
    run = size.transfers * _FLUID + sets * _ENTRY * entries + size.waits * _FLUID_WAIT
    table = runner.network.choices.nbytes if isinstance(runner.network, PacketTopology) else 0
    return _FLUID_LINK * len(runner.network.link_source) + table, int(run), 0


def _most_open(transfers: Transfers) -> int:
    """Return how many transfers may be under way at once.

    Those that start close together; of those that wait, one for each pair that talks: a piece is
    on its way over every hop of a collective that is well under way.
    """
    waits_for_none = np.diff(transfers.wait_offsets) == 0
    start_ps = np.sort(transfers.start_ps[waits_for_none])
    soon = np.searchsorted(start_ps, start_ps + _WINDOW_PS, side="right")
    begun = int((soon - np.arange(len(start_ps))).max(initial=0))
    pair = transfers.source.astype(np.int64) << 32 | transfers.target
    return max(begun, len(np.unique(pair[~waits_for_none])))


def _some(transfers: Transfers) -> Transfers:
    """Return some of *transfers*, evenly over all of them, waiting for nothing."""
    at = np.unique(np.linspace(0, len(transfers) - 1, min(_SAMPLE, len(transfers)), dtype=np.int64))
    return Transfers(
        source=transfers.source[at],
        target=transfers.target[at],
        size_bytes=transfers.size_bytes[at],
        start_ps=transfers.start_ps[at],
        delay_ps=transfers.delay_ps[at],
        source_port=transfers.source_port[at],
        priority=transfers.priority[at],
        job=transfers.job[at],
        wait_offsets=np.zeros(len(at) + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )


def _remedy(engine: str, *, flows: bool = True) -> str:
    """Return what to do; *flows* says whether these might fit as flows."""
    smaller = "simulate fewer endpoints or fewer messages ('distances' of an all-to-all)"
    return f"{smaller}, or --engine flow" if engine == "packet" and flows else smaller


def _gib(count: int) -> str:
    return f"{count / _GIB:,.1f}"
