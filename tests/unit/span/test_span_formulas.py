"""Formulas of lines between sites: schedules, losses, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.fabric.span.calendar import allot
from netloom.fabric.span.carrier import CARRIERS
from netloom.fabric.span.recovery import selective_repeat_times
from netloom.step.across.exchange import bytes_each_way, exposed_exchange_s, local_exposed_s
from netloom.step.across.pipeline import (
    SiteCrossing,
    extra_in_flight,
    one_f_one_b_extra_s,
    schedule_s,
)


def _extra(stages: int, batches: int, delay: float, more: int = 0) -> float:
    crossings = [SiteCrossing(after=stages // 2 - 1, delay_s=delay)]
    whole = schedule_s(
        [1.0] * stages,
        [2.0] * stages,
        num_micro_batches=batches,
        crossings=crossings,
        more_in_flight=more,
    )
    return float(whole) - 3.0 * (batches + stages - 1)


@pytest.mark.parametrize("delay", [0.1, 1.0, 2.5, 10.0])
@pytest.mark.parametrize(("stages", "batches"), [(4, 16), (8, 32), (16, 64)])
def test_1f1b_loses_a_delay_a_micro_batch_and_two_with_more_in_flight(
    stages: int, batches: int, delay: float
) -> None:
    plain = _extra(stages, batches, delay)
    assert plain == pytest.approx(one_f_one_b_extra_s(stages, batches, delay))
    ahead = extra_in_flight(delay, 1.0, 2.0)
    assert _extra(stages, batches, delay, ahead) == pytest.approx(2 * delay)
    assert _extra(stages, batches, delay, ahead - 1) > 2 * delay + 1e-9


def test_many_delays_are_scheduled_as_one_by_one() -> None:
    delays = np.array([0.0, 0.5, 3.0])
    crossings = [SiteCrossing(after=1, delay_s=delays, busy_s=0.25)]
    together = schedule_s([1.0] * 4, [2.0] * 4, num_micro_batches=8, crossings=crossings)
    alone = [
        float(
            schedule_s(
                [1.0] * 4,
                [2.0] * 4,
                num_micro_batches=8,
                crossings=[SiteCrossing(after=1, delay_s=delay, busy_s=0.25)],
            )
        )
        for delay in delays
    ]
    assert together.tolist() == alone


def test_a_steady_state_that_is_repeated_ends_when_the_scheduled_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crossings = [SiteCrossing(after=3, delay_s=1.7)]
    long = {"num_micro_batches": 400, "crossings": crossings, "more_in_flight": 1}
    exact = float(schedule_s([1.0] * 8, [2.0] * 8, **long))  # type: ignore[arg-type]
    monkeypatch.setattr("netloom.step.across.pipeline.MAX_PASSES", 100)
    repeated = float(schedule_s([1.0] * 8, [2.0] * 8, **long))  # type: ignore[arg-type]
    assert repeated == pytest.approx(exact, rel=1e-9)


def test_a_busy_line_sets_the_pace_of_the_pipeline() -> None:
    # 5 s a micro-batch on the line, 3 s in a stage: 15 more waits of 2 s than without.
    crossings = [SiteCrossing(after=0, delay_s=0.0, busy_s=5.0)]
    whole = schedule_s(
        [1.0, 1.0], [2.0, 2.0], num_micro_batches=16, crossings=crossings, more_in_flight=16
    )
    assert float(whole) >= 16 * 5.0


@given(st.integers(1, 5000), st.floats(1e-7, 1e-4), st.floats(1e-5, 0.1), st.floats(1e-8, 0.2))
@settings(max_examples=40, deadline=None)
def test_selective_repeat_never_beats_a_lossless_line(
    chunks: int, chunk_s: float, rtt_s: float, loss: float
) -> None:
    base_s = chunks * chunk_s + rtt_s
    times = selective_repeat_times(chunks, chunk_s, rtt_s, loss)
    assert times.mean_s >= base_s * (1 - 1e-9)
    assert times.p999_s >= base_s * (1 - 1e-9)


def test_selective_repeat_is_what_a_monte_carlo_draws() -> None:
    draw = np.random.default_rng(1)
    chunks, chunk_s, rtt_s, loss = 200, 1e-4, 1e-2, 0.01
    again_s = 3 * rtt_s + chunk_s
    tries = draw.geometric(1 - loss, size=(4000, chunks))
    ends = np.arange(chunks) * chunk_s + (tries - 1) * again_s
    mean_s = float(np.mean(ends.max(axis=1))) + chunk_s + rtt_s
    assert selective_repeat_times(chunks, chunk_s, rtt_s, loss).mean_s == pytest.approx(
        mean_s, rel=0.02
    )


def test_two_sites_move_each_gradient_byte_once_each_way() -> None:
    assert bytes_each_way(810e9, 2) == 810e9
    assert bytes_each_way(3.0, 3) == pytest.approx(4.0)
    assert bytes_each_way(3.0, 3, "tree") == 3.0


def exposed_s(sent_s: float, inside_s: float, delays_s: float = 0.0) -> float:
    """Return what four chunks show behind 2.5 s of computation."""
    return float(
        exposed_exchange_s(
            sent_s, inside_s, delays_s=delays_s, hidden_s=2.5, inside_exposed_s=0.0, chunks=4
        )
    )


def test_the_backward_pass_hides_all_but_the_last_chunk() -> None:
    assert exposed_s(2.0, 1.0) == pytest.approx(2.0 / 4)
    assert exposed_s(4.0, 1.0) == pytest.approx(4.0 + 1.0 / 4 - 2.5)


def test_chunks_do_not_shorten_the_fibre() -> None:
    # Delays come in whole on top of either side's pace, and of a last chunk that nothing hides.
    for sent_s, inside_s in ((2.0, 1.0), (4.0, 1.0), (1.0, 4.0)):
        assert exposed_s(sent_s, inside_s, 0.1) == pytest.approx(exposed_s(sent_s, inside_s) + 0.1)


def test_local_updates_wait_only_beyond_their_slack() -> None:
    blocking = local_exposed_s(80.0, 2.0, every=100, fragments=1, slack_steps=0)
    streamed = local_exposed_s(80.0, 2.0, every=100, fragments=8, slack_steps=5)
    assert blocking == pytest.approx(0.8)
    assert streamed == 0.0


def test_every_carrier_says_what_it_guarantees_strands_and_costs() -> None:
    assert CARRIERS.names() == ("detnet", "flexe", "ip", "otn", "spn", "tsn")
    assert all(one.guarantees and one.strands and one.costs for one in CARRIERS.entries())


def test_slots_beyond_the_phy_are_refused_with_what_to_leave_out() -> None:
    with pytest.raises(SpecError, match=r"21 slots .* has 20; leave out 5 Gb/s"):
        allot({"a": 105e9}, phy_bps=100e9)
