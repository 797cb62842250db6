"""Periodic streams over a span: when each sends, proved, and run in the packet engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError, at
from netloom.fabric.span.schedule import PeriodicStream, ScheduledLink, list_schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.fabric.span.schedule import GateSchedule, StreamSlot

__all__ = ["ScheduledStream", "scheduled_streams"]

HEADER_BYTES: Final = 22  # Ethernet with a VLAN tag and its check sum
PREAMBLE_BYTES: Final = 8
GAP_BYTES: Final = 12  # the guard between two frames
MIN_PERIODS, MAX_PERIODS = 5, 500  # of each stream that are played
_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledStream:
    """A stream that gates let through without waiting.

    Attributes:
        offset_s: When its frame starts in each period.
        delay_s: From there to the far edge.
        simulated_max_s: The longest that the packet engine shows.
        simulated_jitter_s: The longest less the shortest.
        port_use: Share of the span's port that all streams and their guards take.
        found_by: ``list`` (the built-in scheduler) or ``cp-sat``.
    """

    span: str
    name: str
    period_s: float
    offset_s: float
    delay_s: float
    deadline_s: float
    simulated_max_s: float
    simulated_jitter_s: float
    port_use: float
    found_by: str


def scheduled_streams(
    spans: Sequence[BuiltSpan], *, optimal: bool = False
) -> tuple[ScheduledStream, ...]:
    """Return when the streams of each span send.

    Raises:
        SpecError: the span has no gates, or a deadline lies below propagation.
        InfeasibleError: the span's port is over-booked, or no schedule was found.
    """
    if optimal:
        from netloom.fabric.span.optimal import solver_module  # noqa: PLC0415  (an extra)

        solver_module()
    rows: list[ScheduledStream] = []
    for number, span in enumerate(spans):
        if span.spec.streams:
            with at(f"spans[{number}]"):
                rows += _of_span(span, optimal=optimal)
    return tuple(rows)


def _of_span(span: BuiltSpan, *, optimal: bool) -> list[ScheduledStream]:
    if span.spec.carried_by.kind != "tsn":
        raise SpecError(
            key="streams",
            what=f"{span.spec.carried_by.kind} has no gates",
            remedy="use 'carried_by: {kind: tsn}', or make it a class with a burst",
        )
    names = [one.name for one in span.spec.streams]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(key="streams", what=f"{twice[0]!r} is there twice", remedy="rename one")
    link = ScheduledLink(
        name=span.name,
        rate_bps=round(span.line_bps),
        delay_ps=round(span.latency.total_s * _PS),
    )
    streams = [
        PeriodicStream(
            name=one.name,
            period_ps=round(one.period_s * _PS),
            size_bytes=round(one.size_bytes) + HEADER_BYTES + PREAMBLE_BYTES,
            route=(0,),
            deadline_ps=round(one.deadline_s * _PS),
        )
        for one in span.spec.streams
    ]
    guard_ps = link.wire_ps(GAP_BYTES)
    if optimal:
        from netloom.fabric.span.optimal import optimal_schedule  # noqa: PLC0415  (an extra)

        found = optimal_schedule(streams, [link], guard_ps=guard_ps)
    else:
        found = list_schedule(streams, [link], guard_ps=guard_ps)
    shown = _played(found, link)
    return [
        ScheduledStream(
            span=span.name,
            name=slot.stream.name,
            period_s=slot.stream.period_ps / _PS,
            offset_s=slot.offset_ps / _PS,
            delay_s=slot.delay_ps / _PS,
            deadline_s=slot.stream.deadline_ps / _PS,
            simulated_max_s=longest_ps / _PS,
            simulated_jitter_s=(longest_ps - shortest_ps) / _PS,
            port_use=found.use[0],
            found_by=found.by,
        )
        for slot, (shortest_ps, longest_ps) in zip(found.slots, shown, strict=True)
    ]


def _played(schedule: GateSchedule, link: ScheduledLink) -> list[tuple[int, int]]:
    """Return the shortest and longest delay of each stream by the packet engine.

    Each stream has a link of its own to the edge, which takes no part in its delay: its frames
    start that much earlier.
    """
    import numpy as np  # noqa: PLC0415  (with the engine)

    from netloom.engines.packet.streams import FrameTrain, run_streams  # noqa: PLC0415
    from netloom.engines.packet.timing import PacketTiming  # noqa: PLC0415
    from netloom.fabric.wiring.routed import RoutedCable, routed_wiring  # noqa: PLC0415

    count = len(schedule.slots)
    sink, edge = count, count + 1
    cables = [RoutedCable(one=at, other=edge, rate_bps=link.rate_bps) for at in range(count)]
    cables.append(RoutedCable(one=edge, other=sink, rate_bps=link.rate_bps, delay_ps=link.delay_ps))
    wiring = routed_wiring(count + 1, cables, [(at, edge, sink) for at in range(count)])
    own_ps = [link.wire_ps(slot.stream.size_bytes) for slot in schedule.slots]
    trains = [
        FrameTrain(
            source=number,
            target=sink,
            priority=slot.stream.priority,
            size_bytes=slot.stream.size_bytes - PREAMBLE_BYTES,
            start_ps=slot.offset_ps
            - own_ps[number]
            + slot.stream.period_ps * np.arange(1, 1 + _turns(schedule, slot), dtype=np.int64),
        )
        for number, slot in enumerate(schedule.slots)
    ]
    timing = PacketTiming(gates={2 * count: schedule.gates[0]})
    shown = run_streams(wiring, trains, timing, gap_bytes=PREAMBLE_BYTES)
    return [
        (int(delays.min()) - own, int(delays.max()) - own)
        for delays, own in zip(shown.delay_ps, own_ps, strict=True)
    ]


def _turns(schedule: GateSchedule, slot: StreamSlot) -> int:
    """Return how many frames of a stream are played: a hypercycle, if that is not too many."""
    return min(max(schedule.cycle_ps // slot.stream.period_ps, MIN_PERIODS), MAX_PERIODS)
