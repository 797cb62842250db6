"""When every pass runs, against the closed forms of the literature."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.step.timeline import PassTimes, Timeline, orders, timeline

EVEN = PassTimes(forward_s=1.0, backward_s=2.0)
times = st.floats(min_value=0.1, max_value=10.0)


def run(num_stages: int, num_micro_batches: int, virtual: int = 1) -> Timeline:
    return timeline([EVEN] * num_stages, num_micro_batches=num_micro_batches, virtual=virtual)


@pytest.mark.parametrize(
    ("num_stages", "num_micro_batches", "virtual"),
    [(1, 4, 1), (4, 8, 1), (4, 2, 1), (3, 7, 1), (4, 8, 2), (4, 4, 3), (8, 32, 4), (9, 63, 7)],
)
def test_even_stages_end_when_the_closed_form_says(
    num_stages: int, num_micro_batches: int, virtual: int
) -> None:
    # Narayanan et al. 2021 (arXiv:2104.04473) section 2.2: (t_f + t_b)(m + (p - 1)/v).
    expected_s = 3 * (num_micro_batches + (num_stages - 1) / virtual)
    assert run(num_stages, num_micro_batches, virtual).makespan_s == pytest.approx(expected_s)


def test_batches_that_are_accumulated_follow_one_another() -> None:
    # Each of three batches of four micro-batches fills and drains four stages: 3 x 3 (4 + 3).
    found = timeline([EVEN] * 4, num_micro_batches=12, accumulation=3)
    assert found.makespan_s == pytest.approx(3 * 3 * (4 + 3))
    assert [one[2] for one in orders(4, 12, accumulation=3)[3]][::2] == list(range(12))


def test_gpipe_takes_as_long_as_1f1b() -> None:
    # Huang et al. 2019 (arXiv:1811.06965): the same bubble, only more activations kept.
    found = timeline([EVEN] * 4, num_micro_batches=8, kind="gpipe")
    assert found.makespan_s == pytest.approx(3 * (8 + 3))
    assert [one[0] for one in orders(4, 8, kind="gpipe")[0]] == ["forward"] * 8 + ["backward"] * 8


@pytest.mark.parametrize(("num_stages", "num_micro_batches"), [(2, 4), (4, 8), (8, 24), (8, 64)])
@pytest.mark.parametrize(("input_s", "weights_s"), [(1.0, 1.0), (1.2, 0.8)])
def test_zero_bubble_ends_when_qi_et_al_say(
    num_stages: int, num_micro_batches: int, input_s: float, weights_s: float
) -> None:
    # Qi et al. 2023 (arXiv:2401.10241) Table 2, ZB-H1: the bubble is (p - 1)(t_F + t_B - t_W).
    stage = PassTimes(forward_s=1.0, backward_s=input_s + weights_s, weights_s=weights_s)
    found = timeline([stage] * num_stages, num_micro_batches=num_micro_batches, kind="zero-bubble")
    work_s = num_micro_batches * (1.0 + input_s + weights_s)
    bubble_s = (num_stages - 1) * (1.0 + input_s - weights_s)
    assert found.makespan_s == pytest.approx(work_s + bubble_s)


def test_the_first_stage_holds_as_many_micro_batches_as_there_are_stages() -> None:
    # 1F1B on 4 stages: three forward passes ahead, then one forward, one backward.
    first = [one[0] for one in orders(4, 8)[0]]
    assert first[:6] == ["forward"] * 4 + ["backward", "forward"]


def test_a_hop_delays_the_first_and_the_last_micro_batch_on_every_boundary() -> None:
    # One micro-batch crosses 3 boundaries forward and 3 backward: 4 x 3 + 6 x 0.5.
    found = timeline([EVEN] * 4, num_micro_batches=1, hop_s=0.5)
    assert found.makespan_s == pytest.approx(15.0)


def test_a_heavier_last_stage_sets_the_pace() -> None:
    # The last stage takes 3.45: 8 x 3.45 + 3 x 3.
    heavy = PassTimes(forward_s=1.15, backward_s=2.3)
    found = timeline([EVEN] * 3 + [heavy], num_micro_batches=8)
    assert found.makespan_s == pytest.approx(8 * 3.45 + 9)


@settings(max_examples=60, deadline=None)
@given(
    stages=st.lists(st.tuples(times, times), min_size=1, max_size=5),
    groups=st.integers(1, 4),
    virtual=st.integers(1, 3),
)
def test_no_pass_starts_before_what_it_needs_and_no_stage_does_two_at_once(
    stages: list[tuple[float, float]], groups: int, virtual: int
) -> None:
    virtual = virtual if len(stages) > 1 else 1
    found = timeline(
        [PassTimes(forward_s=f, backward_s=b) for f, b in stages],
        num_micro_batches=groups * len(stages),
        virtual=virtual,
    )
    ends: dict[tuple[str, int, int], float] = {
        (one.way, one.chunk * len(stages) + one.stage, one.micro_batch): one.end_s
        for stage in found.stages
        for one in stage
    }
    for stage in found.stages:
        for before, after in pairwise(stage):
            assert after.start_s >= before.end_s
        for one in stage:
            place = one.chunk * len(stages) + one.stage
            before_it = (
                ("forward", place - 1, one.micro_batch)
                if one.way == "forward"
                else ("backward", place + 1, one.micro_batch)
            )
            assert one.start_s >= ends.get(before_it, 0.0)
            if one.way == "backward":
                assert one.start_s >= ends["forward", place, one.micro_batch]
    slowest_s = max(f + b for f, b in stages)
    assert found.makespan_s >= groups * len(stages) * slowest_s * (1 - 1e-12)


@settings(max_examples=80, deadline=None)
@given(
    longer=st.lists(st.floats(min_value=1.0, max_value=1.2), min_size=2, max_size=8),
    groups=st.integers(1, 6),
    virtual=st.sampled_from([1, 2, 4]),
)
def test_the_closed_form_never_ends_sooner_than_the_schedule_of_uneven_stages(
    longer: list[float], groups: int, virtual: int
) -> None:
    stages = [PassTimes(forward_s=by, backward_s=2 * by) for by in longer]
    batches = groups * len(stages)
    found = timeline(stages, num_micro_batches=batches, virtual=virtual).makespan_s
    closed = 3 * (batches * max(longer) + (sum(longer) - max(longer)) / virtual)
    # The worst of all places of one stage that is 1.2 times as long, 2 to 8 stages, 1 to 6 groups:
    # 0.8987, the second of eight with two groups and two chunks.
    assert 0.89 * closed <= found <= closed * (1 + 1e-9)
