"""Gate synthesis: when periodic streams send, so that no frame ever waits.

A stream's frames pass from link to link without waiting; its one unknown is when the first one
starts. The built-in scheduler gives each stream, the shortest period first, the earliest offset
that is free on all of its links over the hypercycle. Every schedule is proved before it is
returned: no two frames on a link at once, the guard between them, each frame inside its gate, and
each deadline kept.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.span.gates import GateList, GateWindow, window_gates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "GateSchedule",
    "PeriodicStream",
    "ScheduledLink",
    "StreamSlot",
    "check_streams",
    "gates_of",
    "hypercycle_ps",
    "lags_ps",
    "link_use",
    "list_schedule",
    "prove",
    "scheduled",
]

MAX_REPETITIONS: Final = 1_000_000  # frames of all streams in a hypercycle
_BIT_PS: Final = 8_000_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledLink:
    """A link that streams take.

    Attributes:
        delay_ps: Propagation, and forwarding in the bridge that it leads to.
        gated: Whether a bridge sends on it; an endpoint's own link has no gates.
    """

    name: str
    rate_bps: int
    delay_ps: int = 0
    gated: bool = True

    def wire_ps(self, size_bytes: int) -> int:
        """Return how long a frame takes on the wire."""
        return -(-size_bytes * _BIT_PS // self.rate_bps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicStream:
    """A frame every period, by a route, within a deadline.

    Attributes:
        size_bytes: On the wire, with its preamble.
        route: Numbers of links, in order.
        deadline_ps: From its start until its last bit has arrived.
    """

    name: str
    period_ps: int
    size_bytes: int
    route: tuple[int, ...]
    deadline_ps: int
    priority: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSlot:
    """When a stream starts in each of its periods, and what its frames take."""

    stream: PeriodicStream
    offset_ps: int
    delay_ps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSchedule:
    """Offsets of all streams, and the gates that let them through.

    Attributes:
        gates: By number of the link, of those that a bridge sends on.
        use: Share of the time that frames and guards take, by link.
        by: Who found it: ``list`` or ``cp-sat``.
    """

    cycle_ps: int
    guard_ps: int
    slots: tuple[StreamSlot, ...]
    gates: Mapping[int, GateList]
    use: Mapping[int, float]
    by: str


def lags_ps(stream: PeriodicStream, links: Sequence[ScheduledLink]) -> list[int]:
    """Return when a frame begins on each link of its route, after its start; and its delay last."""
    lags = [0]
    for at in stream.route:
        lags.append(lags[-1] + links[at].wire_ps(stream.size_bytes) + links[at].delay_ps)
    return lags


def hypercycle_ps(streams: Iterable[PeriodicStream]) -> int:
    """Return after how long everything repeats.

    Raises:
        SpecError: that is too long to list.
    """
    cycle = math.lcm(*(one.period_ps for one in streams))
    total = sum(cycle // one.period_ps for one in streams)
    if total > MAX_REPETITIONS:
        raise SpecError(
            key="streams.period",
            what=f"periods repeat together after {cycle / 1e12:g} s, {total} frames",
            remedy="use periods that divide each other, such as 125, 250 and 500 us",
        )
    return cycle


def link_use(
    streams: Iterable[PeriodicStream], links: Sequence[ScheduledLink], *, guard_ps: int
) -> dict[int, float]:
    """Return the share of time that frames and guards take of each link."""
    use: dict[int, float] = {}
    for one in streams:
        for at in one.route:
            busy_ps = links[at].wire_ps(one.size_bytes) + guard_ps
            use[at] = use.get(at, 0.0) + busy_ps / one.period_ps
    return use


def check_streams(
    streams: Sequence[PeriodicStream], links: Sequence[ScheduledLink], *, guard_ps: int
) -> None:
    """Raise where no schedule can exist: a deadline below the empty path, an over-booked link."""
    for number, one in enumerate(streams):
        alone_ps = lags_ps(one, links)[-1]
        if one.deadline_ps < alone_ps:
            raise SpecError(
                key=f"streams[{number}].deadline",
                what=f"{one.deadline_ps / 1e6:g} us, and {one.name!r} takes {alone_ps / 1e6:g} us "
                "on an empty path",
                remedy=f"allow {alone_ps / 1e6:g} us or more, or shorten the route",
            )
    use = link_use(streams, links, guard_ps=guard_ps)
    if use and max(use.values()) > 1:
        worst = max(use, key=lambda at: (use[at], -at))
        raise InfeasibleError(
            key="streams",
            what=f"link {links[worst].name!r} is booked to {100 * use[worst]:.1f} %, guards of "
            f"{guard_ps / 1e6:g} us included",
            remedy="drop or slow streams that cross it, or use a faster link",
        )


def list_schedule(
    streams: Sequence[PeriodicStream], links: Sequence[ScheduledLink], *, guard_ps: int
) -> GateSchedule:
    """Return the schedule of the built-in scheduler, proved.

    Streams go in order of period, then of slack, then of name, so that equal streams give equal
    schedules in whatever order they come.

    Raises:
        SpecError: a deadline lies below the empty path.
        InfeasibleError: a link is over-booked, or no free place was found.
    """
    check_streams(streams, links, guard_ps=guard_ps)
    cycle_ps = hypercycle_ps(streams)
    taken: dict[int, list[tuple[int, int]]] = {at: [] for one in streams for at in one.route}
    offsets: dict[str, int] = {}

    def urgency(one: PeriodicStream) -> tuple[int, int, str]:
        return one.period_ps, one.deadline_ps - lags_ps(one, links)[-1], one.name

    for one in sorted(streams, key=urgency):
        offset_ps = _earliest(one, links, taken, cycle_ps=cycle_ps, guard_ps=guard_ps)
        if offset_ps is None:
            raise _no_place(one, streams, links, guard_ps=guard_ps)
        offsets[one.name] = offset_ps
        for busy_at, begin_ps, end_ps in _busy(one, offset_ps, links, cycle_ps, guard_ps):
            insort(taken[busy_at], (begin_ps, end_ps))
    return scheduled(streams, links, offsets, guard_ps=guard_ps, by="list")


def scheduled(
    streams: Sequence[PeriodicStream],
    links: Sequence[ScheduledLink],
    offsets: Mapping[str, int],
    *,
    guard_ps: int,
    by: str,
) -> GateSchedule:
    """Return the schedule of given *offsets*, proved."""
    slots = tuple(
        StreamSlot(stream=one, offset_ps=offsets[one.name], delay_ps=lags_ps(one, links)[-1])
        for one in streams
    )
    found = GateSchedule(
        cycle_ps=hypercycle_ps(streams),
        guard_ps=guard_ps,
        slots=slots,
        gates=gates_of(slots, links),
        use=link_use(streams, links, guard_ps=guard_ps),
        by=by,
    )
    prove(found, links)
    return found


def _busy(
    one: PeriodicStream,
    offset_ps: int,
    links: Sequence[ScheduledLink],
    cycle_ps: int,
    guard_ps: int,
) -> list[tuple[int, int, int]]:
    """Return (link, begin, end) of every frame with its guard, each in [0, cycle)."""
    busy = []
    for at, lag_ps in zip(one.route, lags_ps(one, links), strict=False):
        length_ps = links[at].wire_ps(one.size_bytes) + guard_ps
        for turn in range(cycle_ps // one.period_ps):
            begin_ps = (offset_ps + lag_ps + turn * one.period_ps) % cycle_ps
            end_ps = begin_ps + length_ps
            busy.append((at, begin_ps, min(end_ps, cycle_ps)))
            if end_ps > cycle_ps:
                busy.append((at, 0, end_ps - cycle_ps))
    return busy


def _earliest(
    one: PeriodicStream,
    links: Sequence[ScheduledLink],
    taken: Mapping[int, list[tuple[int, int]]],
    *,
    cycle_ps: int,
    guard_ps: int,
) -> int | None:
    """Return the earliest offset at which nothing is in the way; None where there is none."""
    offset_ps = 0
    while offset_ps < one.period_ps:
        wait_ps = 0
        for at, begin_ps, end_ps in _busy(one, offset_ps, links, cycle_ps, guard_ps):
            wait_ps = max(wait_ps, _overlap_ps(taken[at], begin_ps, end_ps))
        if wait_ps == 0:
            return offset_ps
        offset_ps += wait_ps
    return None


def _overlap_ps(taken: list[tuple[int, int]], begin_ps: int, end_ps: int) -> int:
    """Return by how much a frame must be later to be clear of what it overlaps; 0: nothing."""
    at = bisect_left(taken, (begin_ps, -1))
    wait_ps = 0
    if at and taken[at - 1][1] > begin_ps:
        wait_ps = taken[at - 1][1] - begin_ps
    if at < len(taken) and taken[at][0] < end_ps:
        wait_ps = max(wait_ps, taken[at][1] - begin_ps)
    return wait_ps


def _no_place(
    one: PeriodicStream,
    streams: Sequence[PeriodicStream],
    links: Sequence[ScheduledLink],
    *,
    guard_ps: int,
) -> InfeasibleError:
    use = link_use(streams, links, guard_ps=guard_ps)
    worst = max(one.route, key=lambda at: use[at])
    return InfeasibleError(
        key="streams",
        what=f"no offset is free for {one.name!r} on all of its links; link "
        f"{links[worst].name!r} is booked to {100 * use[worst]:.1f} %",
        remedy="use 'optimal', lengthen its period, or take it off that link",
    )


def gates_of(slots: Sequence[StreamSlot], links: Sequence[ScheduledLink]) -> dict[int, GateList]:
    """Return the gate list of every gated link: each frame's own time, for its priority alone."""
    cycle_ps = hypercycle_ps([slot.stream for slot in slots])
    windows: dict[int, list[GateWindow]] = {}
    for slot in slots:
        for at, begin_ps, end_ps in _busy(slot.stream, slot.offset_ps, links, cycle_ps, 0):
            if links[at].gated:
                windows.setdefault(at, []).append(
                    GateWindow(
                        begin_ps=begin_ps,
                        end_ps=end_ps,
                        priority=slot.stream.priority,
                        name=slot.stream.name,
                    )
                )
    return {
        at: window_gates(found, cycle_ps=cycle_ps, key=f"gates of {links[at].name}")
        for at, found in windows.items()
    }


def prove(schedule: GateSchedule, links: Sequence[ScheduledLink]) -> None:
    """Check a schedule afresh, from its offsets and gate lists alone.

    Raises:
        InfeasibleError: frames overlap or come within the guard of each other, a gate is shut for
            a frame, or a deadline is missed.
    """
    frames: dict[int, list[tuple[int, int, PeriodicStream]]] = {}
    for slot in schedule.slots:
        one = slot.stream
        lags = lags_ps(one, links)
        _require(
            lags[-1] == slot.delay_ps <= one.deadline_ps,
            f"{one.name!r} takes {slot.delay_ps / 1e6:g} us of {one.deadline_ps / 1e6:g}",
        )
        for at, lag_ps in zip(one.route, lags, strict=False):
            wire_ps = links[at].wire_ps(one.size_bytes)
            for turn in range(schedule.cycle_ps // one.period_ps):
                begin_ps = (slot.offset_ps + lag_ps + turn * one.period_ps) % schedule.cycle_ps
                frames.setdefault(at, []).append((begin_ps, wire_ps, one))
    for at, found in frames.items():
        found.sort(key=lambda frame: frame[0])
        following = [*found[1:], (found[0][0] + schedule.cycle_ps, *found[0][1:])]
        for (begin_ps, wire_ps, one), (next_ps, _, other) in zip(found, following, strict=True):
            _require(
                begin_ps + wire_ps + schedule.guard_ps <= next_ps,
                f"{one.name!r} and {other.name!r} meet on link {links[at].name!r} at "
                f"{begin_ps / 1e6:g} us",
            )
            if links[at].gated:
                _require(
                    _is_open(schedule.gates[at], one.priority, begin_ps, wire_ps),
                    f"the gate of {links[at].name!r} is shut for {one.name!r} at "
                    f"{begin_ps / 1e6:g} us",
                )


def _is_open(gates: GateList, priority: int, begin_ps: int, wire_ps: int) -> bool:
    """Whether *priority* may send all the time from *begin_ps* of the cycle for *wire_ps*."""
    at_ps, need_from, need_to = 0, begin_ps, begin_ps + wire_ps
    for step in (*gates.steps, *gates.steps):
        end_ps = at_ps + step.duration_ps
        if at_ps < need_to and end_ps > need_from and priority not in step.open_for:
            return False
        at_ps = end_ps
    return need_to <= at_ps


def _require(holds: bool, what: str) -> None:  # noqa: FBT001  (as an assertion reads)
    if not holds:
        raise InfeasibleError(
            key="schedule", what=f"not proved: {what}", remedy="report this schedule as a defect"
        )
