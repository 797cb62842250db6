"""Gates, shapers, cycles, pre-emption and two routes in the packet engine, by closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.settings import PacketSettings
from netloom.engines.packet.streams import FrameTrain, StreamDelays, run_streams
from netloom.engines.packet.timing import LaneShaper, PacketTiming
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.span.curves import TokenBucket, cycle_delays_s
from netloom.fabric.span.gates import GateList, GateStep, cycle_gates
from netloom.fabric.wiring.routed import RoutedCable, routed_wiring
from netloom.validation.span.timed import (
    CYCLE_PS,
    cycled_delays,
    dumbbell,
    dumbbell_delays,
    prioritised_delays,
)

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology

FRAME = 1_250  # with its gap: 1 us at 10 Gb/s
FRAME_PS = 1_000_000
OWN_PS = 62_500  # of a frame on a source's own link, 160 Gb/s


def _port(num_sources: int = 2) -> PacketTopology:
    """Return sources on a switch, whose port of 10 Gb/s leads to one sink; its link is 2n."""
    sink, switch = num_sources, num_sources + 1
    cables = [RoutedCable(one=at, other=switch, rate_bps=160e9) for at in range(num_sources)]
    cables.append(RoutedCable(one=switch, other=sink, rate_bps=10e9))
    return routed_wiring(num_sources + 1, cables, [(at, switch, sink) for at in range(num_sources)])


def _train(source: int, starts_ps: list[int], *, target: int = 2, priority: int = 0) -> FrameTrain:
    return FrameTrain(
        source=source,
        target=target,
        priority=priority,
        size_bytes=FRAME - 20,
        start_ps=np.array(starts_ps, dtype=np.int64),
    )


def _after_source(shown: StreamDelays, stream: int = 0) -> list[int]:
    return [int(delay_ps) - OWN_PS for delay_ps in shown.delay_ps[stream]]


def test_a_frame_waits_for_a_window_that_it_fits_into() -> None:
    # Open for 1.5 us of every 4: the first frame goes at once, the second does not end in time.
    gates = GateList(
        steps=(
            GateStep(open_for=frozenset({0}), duration_ps=1_500_000),
            GateStep(open_for=frozenset(), duration_ps=2_500_000),
        ),
        offset_ps=OWN_PS,
    )
    shown = run_streams(_port(1), [_train(0, [0, 0, 0], target=1)], PacketTiming(gates={2: gates}))
    assert _after_source(shown) == [1_000_000, 5_000_000, 9_000_000]


def test_a_frame_that_fits_into_no_window_is_told() -> None:
    gates = GateList(
        steps=(
            GateStep(open_for=frozenset({0}), duration_ps=900_000),
            GateStep(open_for=frozenset(), duration_ps=100_000),
        )
    )
    with pytest.raises(InfeasibleError, match=r"frame 0 of stream 0 .* never arrives; give its"):
        run_streams(_port(1), [_train(0, [0], target=1)], PacketTiming(gates={2: gates}))


def test_a_token_bucket_lets_its_burst_through_and_then_its_rate() -> None:
    # 2 frames at once, then one every 2.5 us (4 Gb/s).
    shaper = LaneShaper(kind="token-bucket", rate_bps=4e9, burst_bytes=2 * FRAME)
    shown = run_streams(
        _port(1), [_train(0, [0] * 4, target=1)], PacketTiming(shapers={(2, 0): shaper})
    )
    # The first frames come one link behind another; tokens are spent from the first on.
    assert _after_source(shown) == [1_000_000, 2_000_000, 3_500_000, 6_000_000]


def test_credit_spaces_frames_at_its_idle_slope() -> None:
    # idleSlope 2.5 of 10 Gb/s: a frame of 1 us every 4 us.
    shaper = LaneShaper(kind="cbs", rate_bps=2.5e9)
    shown = run_streams(
        _port(1), [_train(0, [0] * 4, target=1)], PacketTiming(shapers={(2, 0): shaper})
    )
    assert _after_source(shown) == [1_000_000, 5_000_000, 9_000_000, 13_000_000]


def test_credit_saved_behind_another_frame_is_spent_at_once() -> None:
    # The high class waits 1 us for a low frame: 0.5 of a frame saved at idleSlope 5 Gb/s.
    shaper = LaneShaper(kind="cbs", rate_bps=5e9)
    shown = run_streams(
        _port(2),
        [_train(0, [OWN_PS, OWN_PS, OWN_PS], priority=5), _train(1, [0], priority=1)],
        PacketTiming(shapers={(4, 5): shaper}),
    )
    # It begins at 1 us with 5,000 bit less 312.5 of what it came late by, sends until 2 us for
    # 5,000 bit, and waits until the credit is 0 again.
    waited = [1_000_000 - OWN_PS + at for at in (1_000_000, 2_000_000 + OWN_PS, 4_000_000 + OWN_PS)]
    assert _after_source(shown) == waited


def test_asynchronous_shaping_holds_each_stream_to_its_own_bucket() -> None:
    streams = tuple(TokenBucket(burst_bytes=FRAME, rate_bps=rate) for rate in (5e9, 1e9))
    shown = run_streams(
        _port(2),
        [_train(0, [0, 0, 0]), _train(1, [0, 0, 0])],
        PacketTiming(shapers={(4, 0): LaneShaper(kind="ats")}, streams=streams),
    )
    # Every 2 us and every 10 us; the first frames of both meet, and so at 20 us.
    assert _after_source(shown, 0) == [1_000_000, 3_000_000, 5_000_000]
    assert _after_source(shown, 1) == [2_000_000, 11_000_000, 21_000_000]


def test_a_meter_drops_what_exceeds_its_stream_and_no_other() -> None:
    streams = tuple(TokenBucket(burst_bytes=2 * FRAME, rate_bps=1e9) for _ in range(2))
    shown = run_streams(
        _port(2),
        [_train(0, [0, 0, 0, 0]), _train(1, [0, 0])],
        PacketTiming(metered=frozenset({0, 2}), streams=streams),
        until_ps=10**9,
    )
    assert shown.delivery.counters["metered"] == 2
    assert (shown.delay_ps[0] < 0).tolist() == [False, False, True, True]
    assert (shown.delay_ps[1] < 0).sum() == 0


@pytest.mark.parametrize("seed", range(3))
def test_cyclic_queues_take_between_h_minus_and_h_plus_one_cycles(seed: int) -> None:
    shown = cycled_delays(num_hops=5, seed=seed)
    assert shown.delivery.counters["late_cycles"] == 0
    assert cycle_delays_s(5, 10e-6) == pytest.approx((40e-6, 60e-6))
    assert 4 * CYCLE_PS <= shown.delay_ps[0].min() <= shown.delay_ps[0].max() <= 6 * CYCLE_PS


def test_a_cycle_tag_lets_links_be_longer_than_a_cycle() -> None:
    # 37.3 us a link and cycles of 10: sent on 5 cycles later, whatever the phase.
    shown = cycled_delays(num_hops=5, seed=1, delay_ps=37_300_000, tagged=True)
    assert shown.delivery.counters["late_cycles"] == 0
    low_s, high_s = cycle_delays_s(5, CYCLE_PS / 1e12, shifts=(5,) * 4)
    assert low_s <= shown.delay_ps[0].min() / 1e12
    assert shown.delay_ps[0].max() / 1e12 <= high_s


def test_links_that_fill_a_cycle_are_refused_without_a_tag() -> None:
    with pytest.raises(SpecError, match=r"take 10 us of a cycle of 10 us; use a longer cycle, or"):
        cycle_gates((6, 5), cycle_ps=CYCLE_PS, dead_ps=CYCLE_PS, always=frozenset())


def test_inets_showcase_to_the_nanosecond() -> None:
    delays = dumbbell_delays(dumbbell())
    for number, expected_ps in enumerate((254_070_000, 134_070_000) * 2):
        assert set(delays[number].tolist()) == {expected_ps}  # no jitter at all


def test_pre_emption_spares_the_express_class_all_but_143_bytes_of_blocking() -> None:
    plain, cut = (prioritised_delays(preempts=preempts) for preempts in (False, True))
    for shown_s, bound_s in (*plain, *cut):
        assert 0.9 * bound_s <= shown_s <= bound_s
    spared_bytes = (plain[0][1] - cut[0][1]) * 100e9 / 8
    assert spared_bytes == pytest.approx(9_216 - 143)


def test_a_cut_frame_takes_24_bytes_more() -> None:
    # A low frame of 1 us, cut 0.3 us after its begin by a frame of 1 us: 20 bytes less its own
    # preamble and gap are sent between, and all of it ends 24 bytes later than both together.
    shown = run_streams(
        _port(2),
        [_train(0, [300_000], priority=5), _train(1, [0], priority=1)],
        PacketTiming(express={4: frozenset({5})}),
    )
    byte_ps = 800
    assert shown.delivery.counters["preemptions"] == 1
    assert _after_source(shown, 0) == [FRAME_PS + 16 * byte_ps]
    assert _after_source(shown, 1) == [2 * FRAME_PS + 24 * byte_ps]


def _two_routes(*, longer_ps: int = 0) -> PacketTopology:
    """Return source 0, sink 1, and switches 2 and 5 joined through 3 and through 4."""
    cables = [
        RoutedCable(one=0, other=2, rate_bps=10e9),
        RoutedCable(one=2, other=3, rate_bps=10e9),
        RoutedCable(one=3, other=5, rate_bps=10e9),
        RoutedCable(one=2, other=4, rate_bps=10e9),
        RoutedCable(one=4, other=5, rate_bps=10e9, delay_ps=longer_ps),
        RoutedCable(one=5, other=1, rate_bps=10e9),
    ]
    return routed_wiring(2, cables, [(0, 2, 3, 5, 1), (0, 2, 4, 5, 1)])


def _replicated(history: int, *, longer_ps: int = 0) -> StreamDelays:
    train = _train(0, [2 * FRAME_PS * at for at in range(400)], target=1)
    timing = PacketTiming(
        replicates=frozenset({2}),
        eliminates=frozenset({5}),
        streams=(TokenBucket(burst_bytes=FRAME, rate_bps=10e9),),
        history_packets=history,
    )
    loss = PacketFault(kind="loss", when_ps=0, link=4, loss=0.25)
    return run_streams(
        _two_routes(longer_ps=longer_ps), [train], timing, faults=[loss], until_ps=10**10
    )


def test_two_routes_deliver_every_frame_once_while_one_loses_a_quarter() -> None:
    shown = _replicated(64)
    counters = shown.delivery.counters
    assert counters["lost"] > 60
    assert counters["replicated"] == 400
    assert counters["eliminated"] == 400 - counters["lost"]
    assert (shown.delay_ps[0] >= 0).all()
    assert counters["retransmissions"] == 0


def test_a_history_shorter_than_the_skew_loses_what_one_route_lost() -> None:
    # 100 us of skew at a frame every 2 us: 50 frames must be remembered.
    skew_ps = 100_000_000
    enough, short = (_replicated(history, longer_ps=skew_ps) for history in (64, 16))
    assert enough.delivery.counters["too_late"] == 0
    assert (enough.delay_ps[0] >= 0).all()
    assert short.delivery.counters["too_late"] > 0
    assert (short.delay_ps[0] < 0).sum() > 0


def test_gates_go_with_best_effort_and_store_and_forward_alone() -> None:
    with pytest.raises(SpecError, match="do not go with flow control pfc; use flow control lossy"):
        PacketSettings(flow_control="pfc", timing=PacketTiming())


def test_a_burst_below_a_frame_is_refused() -> None:
    timing = PacketTiming(
        shapers={(2, 0): LaneShaper(kind="ats")},
        streams=(TokenBucket(burst_bytes=1_000, rate_bps=1e9),),
    )
    with pytest.raises(SpecError, match=r"stream 0 has a burst of 1000 bytes.*at least 1250"):
        run_streams(_port(1), [_train(0, [0], target=1)], timing)
