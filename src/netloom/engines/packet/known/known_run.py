"""Transfers, packet by packet but for those that meet no other: these take their time alone.

All messages are laid out in time. Those that meet others on a link are moved packet by packet,
among the times of the rest, and all is laid out again until no more meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.core_rows import KnownTimes
from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.known.alone import MAX_ANSWERS, alone_times, answer_share
from netloom.engines.packet.known.meetings import Meetings
from netloom.engines.packet.known.message_ways import message_ways
from netloom.engines.packet.scheme import SCHEMES
from netloom.engines.packet.states import OneState, content_key
from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.engines.delivery import Delivery
    from netloom.engines.packet.engine import Progress
    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.known.alone import AloneTimes
    from netloom.engines.packet.known.message_ways import MessageWays
    from netloom.engines.packet.settings import PacketSettings
    from netloom.engines.packet.states import StateStore
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["run_with_known"]

MAX_ROUNDS: Final = 12
# By how much of its time a message that met others may end later in the next round, doubled in
# each: two that share a link take twice their time.
GUARD: Final = 1.0
_LOST: Final = ("drops", "lost", "trims", "timeouts", "retransmissions")


def run_with_known(  # noqa: PLR0913  (as run_packets)
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    *,
    seed: int = 0,
    until_ps: int | None = None,
    faults: Sequence[PacketFault] = (),
    on_progress: Callable[[Progress], bool] | None = None,
    states: StateStore | None = None,
    num_workers: int = 1,
) -> Delivery:
    """Return what becomes of *transfers*, with those that meet no other not moved.

    As :func:`~netloom.engines.packet.engine.run_packets`, but nothing is watched.
    """
    kept = None
    if states is not None:
        key = content_key(wiring, transfers, settings, seed, until_ps, list(faults))
        kept = _KeptRounds(states=states, key=key)

    def run(known: KnownTimes | None) -> Delivery:
        return run_packets(
            wiring,
            transfers,
            settings,
            seed=seed,
            until_ps=until_ps,
            faults=faults,
            on_progress=on_progress,
            known=known,
            states=None if kept is None else kept.packets,
            num_workers=num_workers,
        )

    def all_of_it(reason: str) -> Delivery:
        return replace(run(None), notes=(f"every message was moved: {reason}",))

    if reason := _refusal(transfers, settings, faults):
        return all_of_it(reason)
    ways = message_ways(wiring, transfers, settings, seed=seed)
    times = alone_times(wiring, transfers, settings, ways, seed=seed)
    if times.reason:
        return all_of_it(times.reason)
    rounds = _Rounds.of(transfers, settings, ways, times)
    if kept is not None:
        kept.go_on(rounds)
    for _ in range(rounds.number, MAX_ROUNDS):
        found = run(rounds.known())
        if found.partial or not rounds.grow(found):
            return rounds.told(found)
        if kept is not None:
            kept.keep(rounds)
    return all_of_it(f"others met in each of {MAX_ROUNDS} rounds")


def _refusal(transfers: Transfers, settings: PacketSettings, faults: Sequence[PacketFault]) -> str:
    if answer_share(settings.transport) > MAX_ANSWERS:
        return "answers to all packets take their share of the links"
    if faults:
        return "links fail or slow down"
    if (transfers.delay_ps[transfers.size_bytes > 0] > 0).any():
        return "messages have delays of their own"
    if not (transfers.size_bytes > 0).any():
        return "there are none"
    owner = np.repeat(np.arange(len(transfers)), np.diff(transfers.wait_offsets))
    sends = transfers.size_bytes > 0
    if ((transfers.waits > owner) & sends[owner] & sends[transfers.waits]).any():
        return "messages wait for others that are listed behind them"
    return ""


@dataclass(slots=True, kw_only=True)
class _Rounds:
    """Which messages are moved, from one round to the next.

    Attributes:
        moved: Of each transfer.
        before: The one before it on its connection.
        remembers: Whether a connection that met another is never again as new; else it is, unless
            congestion control slowed it down.
        number: Of rounds that are over.
    """

    transfers: Transfers
    times: AloneTimes
    meetings: Meetings
    before: NDArray[np.int64]
    moved: NDArray[np.bool_]
    remembers: bool
    number: int = 0

    @classmethod
    def of(
        cls, transfers: Transfers, settings: PacketSettings, ways: MessageWays, times: AloneTimes
    ) -> _Rounds:
        meetings = Meetings.of(ways)
        return cls(
            transfers=transfers,
            times=times,
            meetings=meetings,
            before=_before(meetings),
            moved=np.zeros(len(transfers), dtype=np.bool_),
            remembers=SCHEMES.get(settings.congestion_control).needs_every_ack,
        )

    def known(self) -> KnownTimes:
        """Return the messages that are not moved."""
        return KnownTimes(
            is_known=(self.transfers.size_bytes > 0) & ~self.moved,
            kind=self.times.kind,
            busy_ps=self.times.busy_ps,
            flight_ps=self.times.flight_ps,
            before=self.before,
        )

    def grow(self, found: Delivery) -> bool:
        """Add the messages that met others in a round; return whether there were any."""
        arrive = found.tables["arrivals"]["arrive_ps"].astype(np.int64)
        end_ps = arrive - self.times.flight_ps[self.times.kind]
        begin_ps = self._sent_ps(found.start_ps, end_ps)
        end_ps = np.maximum(end_ps, begin_ps + 1)
        more = self.meetings.meet(begin_ps, end_ps)
        more |= self._disturbed(found, more)
        more &= ~self.moved & (self.transfers.size_bytes > 0)
        if not more.any():
            return False
        # Those that meet end later, and then meet the next: these are moved at once.
        takes_ps = end_ps - begin_ps
        guard = GUARD * (1 << self.number)
        takes_ps += (guard * takes_ps * (more | self.moved)).astype(np.int64)
        later_ps = self.meetings.in_turn(begin_ps, takes_ps)
        self.moved |= more | self.meetings.meet(later_ps, later_ps + takes_ps)
        self.number += 1
        return True

    def _sent_ps(self, ready_ps: NDArray[np.int64], end_ps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when messages are sent: one that is moved may be ready while others go first."""
        waits = np.flatnonzero(self.before >= 0)
        sent_ps = ready_ps.copy()
        sent_ps[waits] = np.maximum(sent_ps[waits], end_ps[self.before[waits]])
        return sent_ps

    def _disturbed(self, found: Delivery, met: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the messages of connections that are not as new any more."""
        connection = self.meetings.connection
        late = np.zeros(len(connection), dtype=np.bool_)
        if self.remembers or any(found.counters.get(name, 0) for name in _LOST):
            late[np.isin(connection, np.unique(connection[met | self.moved]))] = True
            return late & (connection >= 0)
        slowed = found.tables["slowed"]["transfer"].astype(np.int64)
        first = np.full(int(connection.max()) + 1, len(connection), dtype=np.int64)
        np.minimum.at(first, connection[slowed], slowed)
        late = np.arange(len(connection)) >= first[connection]
        return np.asarray(late & (connection >= 0), dtype=np.bool_)

    def told(self, found: Delivery) -> Delivery:
        """Return what became of the whole."""
        size = self.transfers.size_bytes
        share = int(size[self.moved].sum()) / max(int(size.sum()), 1)
        note = (
            f"{int(self.moved.sum()):,} of {int(np.count_nonzero(size)):,} messages, {share:.1%} "
            "of the payload, were moved packet by packet: the others meet none on any link, and "
            "take the time of one alone. Counters, pauses, samples, traces and loads of links are "
            "of what was moved"
        )
        tables = {name: table for name, table in found.tables.items() if name != "slowed"}
        return replace(
            found,
            start_ps=self._posted_ps(found),
            tables=tables,
            simulated_share=share,
            notes=(note,),
        )

    def _posted_ps(self, found: Delivery) -> NDArray[np.int64]:
        """Return when messages start, known or not: when only their connection holds them."""
        work = self.transfers
        arrive_ps = found.tables["arrivals"]["arrive_ps"].astype(np.int64)
        known = np.flatnonzero(self.known().is_known & (found.start_ps >= 0))
        begin, end = work.wait_offsets[known], work.wait_offsets[known + 1]
        start_ps = found.start_ps.copy()
        start_ps[known] = work.start_ps[known]
        waits, count = known[end > begin], (end - begin)[end > begin]
        if len(waits):
            last = np.maximum.reduceat(
                arrive_ps[work.waits[spans(begin, end)]], np.cumsum(count) - count
            )
            start_ps[waits] = np.maximum(start_ps[waits], last + work.delay_ps[waits])
        return start_ps


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptRounds:
    """Which messages are moved in the round that runs, and its packets."""

    states: StateStore
    key: str

    @property
    def packets(self) -> StateStore:
        """Where the packets of the round are."""
        return OneState(store=self.states, name=f"{self.key} packets")

    def go_on(self, rounds: _Rounds) -> None:
        """Set *rounds* to the last that was begun, if any was."""
        state = self.states.find(self.key)
        if state is None:
            return
        rounds.number = state[0]
        bits = np.unpackbits(np.frombuffer(state, dtype=np.uint8, offset=1))
        rounds.moved = bits[: len(rounds.moved)].astype(np.bool_)

    def keep(self, rounds: _Rounds) -> None:
        """Keep which messages the next round moves."""
        self.states.keep(self.key, bytes([rounds.number]) + np.packbits(rounds.moved).tobytes())


def _before(meetings: Meetings) -> NDArray[np.int64]:
    """Return for each transfer the one before it on its connection, in their order; -1: none."""
    before = np.full(len(meetings.connection), -1, dtype=np.int64)
    follows = np.ones(len(meetings.rows), dtype=np.bool_)
    follows[meetings.begin[:-1]] = False
    before[meetings.rows[follows]] = meetings.rows[np.flatnonzero(follows) - 1]
    return before
