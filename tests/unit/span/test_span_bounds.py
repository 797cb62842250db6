"""Bounds of ports and networks, by hand; schedules of gates, and what they are refused for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.span.bounds import BoundFlow, BoundPort, network_bounds
from netloom.fabric.span.curves import CreditClass, TokenBucket, shaper_server, window_server
from netloom.fabric.span.gates import GateList, GateStep, GateWindow, window_gates
from netloom.fabric.span.schedule import (
    PeriodicStream,
    ScheduledLink,
    list_schedule,
    prove,
)

US = 1_000_000


def _flow(name: str, route: tuple[int, ...], *, priority: int = 0, rate: float = 1e9) -> BoundFlow:
    return BoundFlow(
        name=name,
        priority=priority,
        arrivals=TokenBucket(burst_bytes=10_000, rate_bps=rate),
        frame_bytes=1_250,
        route=route,
    )


def test_a_fifo_takes_at_most_the_time_of_all_bursts() -> None:
    ports = [BoundPort(name="p", rate_bps=10e9, latency_s=1e-6)]
    found = network_bounds(ports, [_flow("a", (0,)), _flow("b", (0,))])
    # 20,000 bytes at 10 Gb/s are 16 us; on an empty port a frame takes 1 us.
    assert found.flows[0].delay_s == pytest.approx(17e-6)
    assert found.flows[0].jitter_s == pytest.approx(15e-6)
    # What comes while the first frame is sent counts as well: 2 Gb/s for 1 us.
    assert found.backlog_bytes[0, 0] == pytest.approx(20_000 + 250)


def test_a_tandem_pays_a_burst_once() -> None:
    ports = [BoundPort(name=f"p{at}", rate_bps=10e9) for at in range(4)]
    alone = network_bounds(ports, [_flow("a", (0, 1, 2, 3))]).flows[0]
    # 8 us of burst, and a frame of 1 us stored at each of three ports.
    assert alone.delay_s == pytest.approx(11e-6)


def test_the_lower_of_two_priorities_waits_for_the_higher_burst_and_rate() -> None:
    ports = [BoundPort(name="p", rate_bps=10e9)]
    low, high = network_bounds(
        ports, [_flow("low", (0,)), _flow("high", (0,), priority=1, rate=5e9)]
    ).flows
    # 18,750 bytes before its last frame at 5 Gb/s, and that at 10.
    assert low.delay_s == pytest.approx(18_750 * 8 / 5e9 + 1e-6)
    # Its own burst, and one lower frame.
    assert high.delay_s == pytest.approx(11_250 * 8 / 10e9)


def test_more_than_a_port_carries_has_no_bound_and_says_where() -> None:
    ports = [BoundPort(name="p", rate_bps=10e9), BoundPort(name="q", rate_bps=10e9)]
    found = network_bounds(ports, [_flow("a", (0, 1), rate=6e9), _flow("b", (0,), rate=6e9)])
    assert [one.delay_s for one in found.flows] == [None, None]
    assert found.flows[0].reason == "no bound: more is sent than p has for priority 0"


def test_a_circle_of_ports_is_refused_and_named() -> None:
    ports = [BoundPort(name=name, rate_bps=10e9) for name in ("n -> s", "s -> w", "w -> n")]
    around = [_flow(f"f{at}", (at, (at + 1) % 3)) for at in range(3)]
    with pytest.raises(SpecError, match=r"in a circle: .*n -> s.*; route a class another way"):
        network_bounds(ports, around)


def test_shaping_at_each_hop_ends_a_circle() -> None:
    ports = [BoundPort(name=f"p{at}", rate_bps=10e9, rule="ats") for at in range(3)]
    around = [_flow(f"f{at}", (at, (at + 1) % 3)) for at in range(3)]
    found = network_bounds(ports, around)
    # Both flows of a port with the bursts they set out with, at each of two ports.
    assert [one.delay_s for one in found.flows] == pytest.approx([2 * 16e-6] * 3)


def test_credit_based_shapers_wait_for_a_lower_frame_and_what_higher_ones_saved() -> None:
    # R 10 Gb/s, A 4 Gb/s with 1,250 bytes; a lower frame of 1,250 bytes takes 1 us.
    high = CreditClass(idle_slope_bps=4e9, frame_bytes=1_250)
    first = shaper_server(10e9, high, lower_frame_bytes=1_250)
    assert first is not None
    assert first.latency_s == pytest.approx(1e-6)
    low = CreditClass(idle_slope_bps=3e9, frame_bytes=1_250)
    second = shaper_server(10e9, low, higher=[high], lower_frame_bytes=1_250)
    assert second is not None
    # L / (R - I) + L_A / R, as in de Azua and Boyer.
    assert second.latency_s == pytest.approx(1_250 * 8 / 6e9 + 1e-6)


def test_a_window_leaves_a_frame_unused() -> None:
    server = window_server(10e9, 30e-6, 100e-6, frame_bytes=1_250)
    assert server is not None
    assert server.rate_bps == pytest.approx(2.9e9)
    assert server.latency_s == pytest.approx(71e-6)
    assert window_server(10e9, 1e-6, 100e-6, frame_bytes=1_250) is None


def test_overlapping_windows_are_refused_with_by_how_much() -> None:
    windows = [
        GateWindow(begin_ps=0, end_ps=40 * US, priority=5, name="a"),
        GateWindow(begin_ps=30 * US, end_ps=60 * US, priority=3, name="b"),
    ]
    with pytest.raises(SpecError, match=r"'b' .* overlaps .*'a' .* by 10 us; begin it at 40 us"):
        window_gates(windows, cycle_ps=100 * US)


def test_a_window_beyond_its_cycle_is_refused() -> None:
    with pytest.raises(SpecError, match="does not lie in the cycle of 100 us"):
        window_gates([GateWindow(begin_ps=90 * US, end_ps=110 * US, priority=1)], cycle_ps=100 * US)


def _links(count: int) -> list[ScheduledLink]:
    return [ScheduledLink(name=f"l{at}", rate_bps=10**10) for at in range(count)]


def _stream(name: str, route: tuple[int, ...], period_us: int = 100) -> PeriodicStream:
    return PeriodicStream(
        name=name,
        period_ps=period_us * US,
        size_bytes=12_500,
        route=route,
        deadline_ps=period_us * US,
    )


def test_an_overbooked_link_is_refused_with_its_use() -> None:
    streams = [_stream(f"s{at}", (0,)) for at in range(11)]
    with pytest.raises(InfeasibleError, match=r"link 'l0' is booked to 110\.0 %"):
        list_schedule(streams, _links(1), guard_ps=0)


def test_a_deadline_below_the_empty_path_is_refused() -> None:
    late = replace(_stream("s", (0, 1)), deadline_ps=19 * US)
    with pytest.raises(SpecError, match="19 us, and 's' takes 20 us on an empty path"):
        list_schedule([late], _links(2), guard_ps=0)


def test_a_link_can_be_filled_to_the_last_picosecond() -> None:
    streams = [_stream(f"s{at}", (0,)) for at in range(10)]
    found = list_schedule(streams, _links(1), guard_ps=0)
    assert sorted(slot.offset_ps for slot in found.slots) == [10 * US * at for at in range(10)]
    assert found.use == {0: pytest.approx(1.0)}


def test_a_schedule_that_does_not_hold_is_not_proved() -> None:
    links = _links(2)
    found = list_schedule([_stream("a", (0, 1)), _stream("b", (0, 1))], links, guard_ps=US)
    prove(found, links)
    first, second = found.slots
    moved = replace(found, slots=(first, replace(second, offset_ps=first.offset_ps + 5 * US)))
    with pytest.raises(InfeasibleError, match=r"not proved: 'a' and 'b' meet on link 'l0'"):
        prove(moved, links)
    near = replace(found, guard_ps=100 * US)
    with pytest.raises(InfeasibleError, match="not proved"):
        prove(near, links)
    shut = GateList(steps=(GateStep(open_for=frozenset(), duration_ps=found.cycle_ps),))
    with pytest.raises(InfeasibleError, match="the gate of 'l1' is shut for 'a'"):
        prove(replace(found, gates={**found.gates, 1: shut}), links)
    late = replace(first, delay_ps=first.delay_ps + 1)
    with pytest.raises(InfeasibleError, match="takes"):
        prove(replace(found, slots=(late, second)), links)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_schedule_is_proved_whatever_the_streams(data: st.DataObject) -> None:
    links = [
        ScheduledLink(name=f"l{at}", rate_bps=10**9, delay_ps=data.draw(st.integers(0, 10 * US)))
        for at in range(4)
    ]
    streams = []
    for number in range(data.draw(st.integers(1, 8))):
        begin = data.draw(st.integers(0, 3))
        end = data.draw(st.integers(begin + 1, 4))
        period = data.draw(st.sampled_from((100, 200, 400)))
        streams.append(
            PeriodicStream(
                name=f"s{number}",
                period_ps=period * US,
                size_bytes=data.draw(st.integers(64, 1_538)),
                route=tuple(range(begin, end)),
                deadline_ps=10**9,
                priority=data.draw(st.integers(0, 7)),
            )
        )
    try:
        found = list_schedule(streams, links, guard_ps=96_000)
    except InfeasibleError:
        reject()  # no place was found: what is said then has a test of its own
    prove(found, links)
    again = list_schedule(streams[::-1], links, guard_ps=96_000)
    offsets = {slot.stream.name: slot.offset_ps for slot in found.slots}
    assert {slot.stream.name: slot.offset_ps for slot in again.slots} == offsets
