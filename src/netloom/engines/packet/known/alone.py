"""Transfers that meet no other on their way: they take the time that one takes alone.

A message that has its links to itself needs no packets: it takes what an equal one takes that was
moved alone. Which have, shows when all is laid out in time; those that meet others on a link are
moved packet by packet, among computations that stand for the rest, and all is laid out again until
no more meet. Messages of a connection follow one another at the pace of its slowest link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.engine import run_packets
from netloom.fabric.wiring.all_ways import all_ways
from netloom.workload.transfers import Transfers, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.engine import Progress
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings, Transport
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["AloneTimes", "alone_times", "answer_share", "run_with_known"]

MAX_ROUNDS: Final = 12
MAX_CASES: Final = 5_000
_IN_A_ROW: Final = 3
_STEADY: Final = 1e-3  # of a message: how far two in a row may differ when control is at rest
_GAP_PS: Final = 1_000_000_000
MAX_ANSWERS: Final = 0.002  # of the rate: reliable connections send 1 in 256 packets an answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AloneTimes:
    """How long messages take that have their way to themselves.

    Attributes:
        busy_ps: For which a message keeps its connection from the next; 0 for computations.
        flight_ps: What it takes longer to arrive.
        reason: Why that is not known; empty where it is.
    """

    busy_ps: NDArray[np.int64]
    flight_ps: NDArray[np.int64]
    reason: str = ""


def alone_times(
    wiring: PacketTopology, transfers: Transfers, settings: PacketSettings, *, seed: int = 0
) -> AloneTimes:
    """Return the times of each of *transfers* alone, from three equal ones moved in a row.

    One message for each size and kind of way; the second and third must take as long, or congestion
    control is not at rest after one, and nothing is known.
    """
    none = np.zeros(len(transfers), dtype=np.int64)
    sends = np.flatnonzero(transfers.size_bytes > 0)
    key = transfers.source[sends].astype(np.int64) * wiring.num_vertices + transfers.target[sends]
    pairs, pair_of = np.unique(key, return_inverse=True)
    shape = _shapes(wiring, pairs // wiring.num_vertices, pairs % wiring.num_vertices)
    both = np.stack([shape[pair_of.reshape(-1)], transfers.size_bytes[sends]])
    _, first, case = np.unique(both, axis=1, return_index=True, return_inverse=True)
    if len(first) > MAX_CASES:
        return AloneTimes(busy_ps=none, flight_ps=none, reason="too many sizes of messages")
    arrive_ps, start_ps = _moved(wiring, transfers, settings, sends[first], seed=seed)
    gaps = np.diff(arrive_ps, axis=1)
    if (np.abs(gaps[:, 1] - gaps[:, 0]) > _STEADY * gaps[:, 1] + 1_000).any():
        why = "congestion control is not at rest after one message"
        return AloneTimes(busy_ps=none, flight_ps=none, reason=why)
    busy, flight = none.copy(), none.copy()
    busy[sends] = gaps[case.reshape(-1), 1]
    flight[sends] = (arrive_ps[:, 0] - start_ps - gaps[:, 1])[case.reshape(-1)]
    return AloneTimes(busy_ps=busy, flight_ps=flight)


def _shapes(
    wiring: PacketTopology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a number for each pair: equal ones have ways of equal links, hop by hop."""
    found = []
    for ends in ((source, target), (target, source)):
        ways = all_ways(wiring, *ends)
        look = np.stack(
            [
                np.rint(wiring.link_rate_bps[ways.link]).astype(np.int64),
                wiring.link_delay_ps[ways.link],
                wiring.forward_ps[wiring.link_target[ways.link]],
                wiring.link_scale_up[ways.link].astype(np.int64),
            ]
        )
        kind = np.unique(look, axis=1, return_inverse=True)[1].reshape(-1)
        begin = np.flatnonzero(np.diff(ways.pair, prepend=-1))
        hop = np.arange(len(kind)) - np.repeat(begin, np.diff(np.append(begin, len(kind))))
        mixed = (kind + 1) * 0x9E3779B97F4A7C1 ^ (hop + 1) * 0x94D049BB133111
        found.append(np.add.reduceat(mixed, begin))
    return np.unique(np.stack(found), axis=1, return_inverse=True)[1].reshape(-1)


def _moved(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    rows: NDArray[np.int64],
    *,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when three messages like each of *rows*, in a row, arrive, and when they started."""
    size = transfers.size_bytes[rows]
    slowest = float(wiring.link_rate_bps.min())
    last_ps = 2 * _IN_A_ROW * size * 8e12 / slowest
    start = np.cumsum(last_ps + _GAP_PS).astype(np.int64)
    start = np.concatenate([[0], start[:-1]])
    each = np.repeat(rows, _IN_A_ROW)
    alone = Transfers(
        source=transfers.source[each],
        target=transfers.target[each],
        size_bytes=transfers.size_bytes[each],
        start_ps=np.repeat(start, _IN_A_ROW),
        delay_ps=np.zeros(len(each), dtype=np.int64),
        source_port=transfers.source_port[each],
        priority=transfers.priority[each],
        job=transfers.job[each],
        wait_offsets=np.zeros(len(each) + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )
    delivery = run_packets(wiring, alone, settings, seed=seed)
    arrive = delivery.tables["arrivals"]["arrive_ps"].astype(np.int64)
    return arrive.reshape(-1, _IN_A_ROW), start


def run_with_known(  # noqa: PLR0913  (as run_packets, and what is known)
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    *,
    seed: int = 0,
    until_ps: int | None = None,
    faults: Sequence[PacketFault] = (),
    on_progress: Callable[[Progress], bool] | None = None,
) -> Delivery:
    """Return what becomes of *transfers*, with those that meet no other not moved.

    As :func:`~netloom.engines.packet.engine.run_packets`, but nothing is watched.
    """

    def run(some: Transfers) -> Delivery:
        return run_packets(
            wiring,
            some,
            settings,
            seed=seed,
            until_ps=until_ps,
            faults=faults,
            on_progress=on_progress,
        )

    reason = _refusal(transfers, settings, faults)
    known = None if reason else alone_times(wiring, transfers, settings, seed=seed)
    if known is None or known.reason:
        why = reason if known is None else known.reason
        return replace(run(transfers), notes=(f"every message was moved: {why}",))
    meetings = _Meetings.of(wiring, transfers, settings)
    moved = np.zeros(len(transfers), dtype=np.bool_)
    for _ in range(MAX_ROUNDS):
        program = _Program.of(transfers, known, moved, meetings.connection)
        found = run(program.transfers)
        if found.partial:
            return program.told(found, transfers, known)
        busy = program.intervals(found, known)
        more = meetings.meet(*busy, moved) & ~moved
        if not more.any():
            return program.told(found, transfers, known)
        moved |= more
    note = f"every message was moved: others met in each of {MAX_ROUNDS} rounds"
    return replace(run(transfers), notes=(note,))


def _refusal(transfers: Transfers, settings: PacketSettings, faults: Sequence[PacketFault]) -> str:
    if answer_share(settings.transport) > MAX_ANSWERS:
        return "answers to all packets take their share of the links"
    if faults:
        return "links fail or slow down"
    if (transfers.delay_ps[transfers.size_bytes > 0] > 0).any():
        return "messages have delays of their own"
    return ""


def answer_share(host: Transport) -> float:
    """Return what answers take of the links back, over what data takes of those there."""
    full_bytes = host.payload_bytes + host.header_bytes
    packets = host.ask_every_packets or max(-(-host.ack_every_bytes // full_bytes), 1)
    answer_bytes = max(host.ack_bytes, host.least_bytes) + host.gap_bytes
    return answer_bytes / packets / (full_bytes + host.gap_bytes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Meetings:
    """Who may meet whom.

    Attributes:
        row: Of each entry: a transfer.
        link: And a link that it may take.
        room: How many connections that link's set of equal links takes side by side.
        connection: Of each transfer.
        forgets: Whether a connection is as new once it has met another.
    """

    row: NDArray[np.int64]
    link: NDArray[np.int64]
    room: NDArray[np.int64]
    connection: NDArray[np.int64]
    forgets: bool

    @classmethod
    def of(
        cls, wiring: PacketTopology, transfers: Transfers, settings: PacketSettings
    ) -> _Meetings:
        sends = np.flatnonzero(transfers.size_bytes > 0)
        source, target = (
            ends[sends].astype(np.int64) for ends in (transfers.source, transfers.target)
        )
        key = source * wiring.num_vertices + target
        pairs, pair_of = np.unique(key, return_inverse=True)
        pair_of = pair_of.reshape(-1)
        static = settings.balance == "d-mod-k"
        ways = all_ways(
            wiring, pairs // wiring.num_vertices, pairs % wiring.num_vertices, static=static
        )
        number = wiring.choices[wiring.link_source[ways.link], ways.goal]
        size = wiring.offsets[number + 1] - wiring.offsets[number]
        spreads = settings.balance == "adaptive" or settings.spray != "fixed"
        room = np.where(ways.chooses & spreads, size, 1)
        begin = np.searchsorted(ways.pair, np.arange(len(pairs) + 1))
        entry = spans(begin[pair_of], begin[pair_of + 1])
        port = transfers.source_port.astype(np.int64) * 8 + transfers.priority
        whole = np.full(len(transfers), -1, dtype=np.int64)
        whole[sends] = pair_of * (1 << 19) + port[sends]
        return cls(
            row=np.repeat(sends, np.diff(begin)[pair_of]),
            link=ways.link[entry],
            room=room[entry],
            connection=np.unique(whole, return_inverse=True)[1].reshape(-1),
            forgets=settings.congestion_control == "none",
        )

    def meet(
        self, begin_ps: NDArray[np.int64], end_ps: NDArray[np.int64], moved: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return who is on a link at a time with more connections than it takes side by side.

        A message that is moved is met by all others, also by those of its own connection.
        """
        order = np.lexsort((begin_ps[self.row], self.link))
        row, link = self.row[order], self.link[order]
        begin, end, room = begin_ps[row], end_ps[row], self.room[order]
        first = np.diff(link, prepend=-1) != 0
        span = int(end_ps.max(initial=0)) + 1
        group = np.cumsum(first) - 1
        latest = np.maximum.accumulate(end + group * span) - group * span
        before = np.concatenate([[-1], latest[:-1]])
        apart = np.cumsum(first | (begin >= before)) - 1
        user = self.connection[row] * 2 + moved[row]
        both = np.sort(apart * (int(user.max(initial=0)) + 1) + user)
        both = both[np.diff(both, prepend=-1) != 0]
        count = np.bincount(both // (int(user.max(initial=0)) + 1), minlength=int(apart[-1]) + 1)
        at_once = _at_once(group, begin, end, span)
        fewer = np.maximum.reduceat(at_once - room, np.flatnonzero(np.diff(apart, prepend=-1)))
        crowded = np.where(room > 1, fewer[apart] > 0, count[apart] > 1)
        found = np.zeros(len(begin_ps), dtype=np.bool_)
        found[row[crowded]] = True
        if self.forgets or not found.any():
            return found
        touched = np.zeros(int(self.connection.max()) + 1, dtype=np.bool_)
        touched[self.connection[found]] = True
        sends = np.zeros(len(begin_ps), dtype=np.bool_)
        sends[self.row] = True
        return touched[self.connection] & sends


def _at_once(
    group: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], span: int
) -> NDArray[np.int64]:
    """Return how many of its group are under way when each begins, itself included."""
    begins, ends = np.sort(group * span + begin), np.sort(group * span + end)
    now = group * span + begin
    under_way = np.searchsorted(begins, now, side="right")
    return np.asarray(under_way - np.searchsorted(ends, now, side="right"), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Program:
    """Transfers of which some are computations that take their time alone.

    Attributes:
        first: For each transfer of the whole, its row: where it is known the end of its sending.
        last: The row that is its arrival.
    """

    transfers: Transfers
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    moved: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        transfers: Transfers,
        known: AloneTimes,
        moved: NDArray[np.bool_],
        connection: NDArray[np.int64],
    ) -> _Program:
        """Return two rows for each message that is not moved: it is sent, then it arrives."""
        stays = (transfers.size_bytes > 0) & ~moved
        count = 1 + stays.astype(np.int64)
        first = np.cumsum(count) - count
        last = first + stays
        row = np.repeat(np.arange(len(transfers)), count)
        arrives = np.zeros(len(row), dtype=np.bool_)
        arrives[last[stays]] = True
        sends = stays[row] & ~arrives
        delay = transfers.delay_ps[row]
        delay = np.where(sends, known.busy_ps[row], np.where(arrives, known.flight_ps[row], delay))
        waiter, waited = _waits(transfers, first, last, stays, _before(transfers, connection))
        order = np.lexsort((waited, waiter))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(waiter, minlength=len(row)))])
        return cls(
            transfers=Transfers(
                source=transfers.source[row],
                target=transfers.target[row],
                size_bytes=np.where(stays[row], 0, transfers.size_bytes[row]),
                # The earliest end of a computation, which a start is to the core.
                start_ps=np.where(arrives, 0, transfers.start_ps[row] + sends * delay),
                delay_ps=delay,
                source_port=transfers.source_port[row],
                priority=transfers.priority[row],
                job=transfers.job[row],
                wait_offsets=offsets.astype(np.int64),
                waits=waited[order].astype(np.int32),
            ),
            first=first,
            last=last,
            moved=moved.copy(),
        )

    def intervals(
        self, found: Delivery, known: AloneTimes
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return from when to when each message keeps a link busy."""
        arrive = found.tables["arrivals"]["arrive_ps"].astype(np.int64)
        end = arrive[self.last] - known.flight_ps
        begin = np.where(self.moved, found.start_ps[self.first], end - known.busy_ps)
        return begin, np.maximum(end, begin + 1)

    def told(self, found: Delivery, transfers: Transfers, known: AloneTimes) -> Delivery:
        """Return what became of the whole."""
        arrive = found.tables["arrivals"]["arrive_ps"].astype(np.int64)[self.last]
        stays = (transfers.size_bytes > 0) & ~self.moved
        ended = arrive >= 0
        start = np.where(
            stays & ended, arrive - known.flight_ps - known.busy_ps, found.start_ps[self.first]
        )
        total = max(int(transfers.size_bytes.sum()), 1)
        share = int(transfers.size_bytes[self.moved].sum()) / total
        count = int(np.count_nonzero(transfers.size_bytes))
        note = (
            f"{int(self.moved.sum()):,} of {count:,} messages, {share:.1%} of the payload, were "
            "moved packet by packet: the others meet none on any link, and take the time of one "
            "alone. Counters, pauses, samples, traces and loads of links are of what was moved"
        )
        return replace(
            found,
            start_ps=start,
            finish_ps=np.where(stays, arrive, found.finish_ps[self.last]),
            tables={**found.tables, "arrivals": {"arrive_ps": arrive}},
            simulated_share=share,
            notes=(note,),
        )


def _before(transfers: Transfers, connection: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each transfer the one before it on its connection, in their order; -1: none."""
    order = np.argsort(connection, kind="stable")
    follows = np.diff(connection[order], prepend=-1) == 0
    before = np.full(len(transfers), -1, dtype=np.int64)
    before[order[follows]] = order[np.flatnonzero(follows) - 1]
    before[transfers.size_bytes == 0] = -1
    return before


def _waits(
    transfers: Transfers,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    stays: NDArray[np.bool_],
    before: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who waits for whom: arrivals as ever, sending for what was sent before it."""
    owner = np.repeat(np.arange(len(transfers)), np.diff(transfers.wait_offsets))
    queued = np.flatnonzero(before >= 0)
    queued = queued[stays[before[queued]]]
    arrives = np.flatnonzero(stays)
    waiter = np.concatenate([first[owner], first[queued], last[arrives]])
    waited = np.concatenate([last[transfers.waits], first[before[queued]], first[arrives]])
    return waiter, waited
