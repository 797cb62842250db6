"""The closed form of the pipeline, and what hides what."""

from __future__ import annotations

import pytest

from netloom.compute.roofline import Costs
from netloom.provenance import Source
from netloom.step.practice import Practice
from netloom.step.schedule import JITTER, StageTimes, Traffic, layer_exposed_s, schedule, slowest_of
from netloom.workload.collective import Axis, Collective, CollectiveKind, Group
from netloom.workload.communication import Communication, Per, Phase, Window

PLAIN = Practice(
    name="plain",
    title="Plain",
    released="2024-01",
    attention="fused",
    tensor_hidden=0.0,
    pipeline_hidden=1.0,
    overlaps_data=True,
    source=Source(citation="none", confidence="assumed"),
)


def stage(forward_s: float, backward_s: float = 0.0, **exposed_s: float) -> StageTimes:
    costs = Costs(forward_s=forward_s, backward_s=backward_s)
    return StageTimes(costs=costs, exposed_s={Axis(axis): s for axis, s in exposed_s.items()})


def traffic(*items: tuple[Axis, Window, Phase, Per, int, float]) -> Traffic:
    """Return traffic of (axis, window, phase, per, count, seconds each)."""
    communications = []
    durations_s = {}
    for index, (axis, window, phase, per, count, time_s) in enumerate(items):
        collective = Collective(
            kind=CollectiveKind.ALL_REDUCE,
            size_bytes=float(index + 1),
            group=Group(size=2, per_node=1),
        )
        durations_s[collective] = time_s
        communications.append(
            Communication(
                axis=axis,
                purpose="test",
                phase=phase,
                collective=collective,
                each=count,
                per=per,
                window=window,
                count=count,
            )
        )
    return Traffic(communications=tuple(communications), durations_s=durations_s, practice=PLAIN)


def test_equal_stages_take_the_time_of_narayanan_et_al() -> None:
    # 4 stages of 1 + 2 s, 8 micro-batches: 3 x (8 + 3/v).
    for virtual, bubble_s in ((1, 9.0), (2, 4.5), (3, 3.0)):
        found = schedule([stage(1, 2)] * 4, traffic(), num_micro_batches=8, virtual=virtual)
        assert found.compute_s == 24
        assert found.bubble_s == pytest.approx(bubble_s)


def test_the_slowest_stage_sets_the_pace_wherever_it_stands() -> None:
    # 8 x 3 s, and one pass through the others: 1 + 1 + 2 s.
    stages = [stage(1), stage(1), stage(3), stage(2)]
    first = schedule(stages, traffic(), num_micro_batches=8, virtual=1)
    again = schedule(stages[::-1], traffic(), num_micro_batches=8, virtual=1)
    assert (first.compute_s, first.bubble_s) == (24, 4)
    assert first == again


def test_gradients_hide_behind_the_last_backward_pass_but_for_one_bucket() -> None:
    # Backward takes 2 s: 10 buckets of 0.1 s hide, the last shows; 10 of 0.5 s overflow by 3 s.
    for each_s, exposed_s in ((0.1, 0.1), (0.5, 3.0)):
        data = traffic((Axis.DATA, Window.LAST_BACKWARD, "backward", "step", 10, each_s))
        found = schedule([stage(1, 2)], data, num_micro_batches=4, virtual=1)
        assert found.exposed_s[Axis.DATA] == pytest.approx(exposed_s)
        assert found.communication_s[Axis.DATA] == pytest.approx(10 * each_s)


def test_what_nics_still_send_is_shared_out_up_to_what_each_axis_hides() -> None:
    # NICs send 10 + 4 s. Passes take 3 s and gradients show for 10 - 2: 11 s, so 3 s are missing,
    # of which gradients have 2 left to show; the layers' own traffic, all hidden so far, shows one.
    sent = traffic(
        (Axis.DATA, Window.LAST_BACKWARD, "backward", "step", 10, 1.0),
        (Axis.TENSOR, Window.LAYER, "backward", "layer", 4, 1.0),
    )
    found = schedule([stage(1, 2)], sent, num_micro_batches=1, virtual=1)
    assert found.exposed_s[Axis.DATA] == pytest.approx(10)
    assert found.exposed_s[Axis.TENSOR] == pytest.approx(1)


def test_hops_show_in_filling_and_draining_and_without_virtual_stages_always() -> None:
    # 4 stages, 8 micro-batches, one direction of 0.01 s: 3 hops to fill; in between 8 hops
    # wait when there is one stage a GPU. With two, the first stage makes 2 x 3 + 4 passes before
    # its first backward pass, and waits for the hop of each.
    for virtual, exposed_s in ((1, 0.11), (2, 0.10)):
        hops = traffic(
            (Axis.PIPELINE, Window.OTHER_MICRO_BATCH, "forward", "chunk", 8 * virtual, 0.01)
        )
        found = schedule([stage(1)] * 4, hops, num_micro_batches=8, virtual=virtual)
        assert found.exposed_s[Axis.PIPELINE] == pytest.approx(exposed_s)
        assert found.exposed_s[Axis.PIPELINE] <= found.communication_s[Axis.PIPELINE] + 1e-12


def test_a_layer_hides_what_its_windows_are_wide_enough_for() -> None:
    costs = Costs(forward_s=1.0, backward_s=2.0, attention_s=0.3, attention_backward_s=0.6)
    found = layer_exposed_s(
        traffic(
            (Axis.TENSOR, Window.TENSOR, "forward", "layer", 2, 0.05),  # nothing hides it: 0.1
            (Axis.CONTEXT, Window.ATTENTION, "forward", "layer", 1, 0.5),  # over 0.3 by 0.2
            (Axis.DATA, Window.LAYER, "backward", "layer", 1, 1.9),  # under 2.0
            (Axis.EXPERT, Window.NONE, "forward", "moe-layer", 2, 1.0),  # not in a dense layer
        ),
        costs,
        moe=False,
    )
    assert found[Axis.TENSOR] == pytest.approx(0.1)
    assert found[Axis.CONTEXT] == pytest.approx(0.2)
    assert found[Axis.DATA] == 0.0
    assert Axis.EXPERT not in found


def test_the_slowest_of_many_ranks_is_slower() -> None:
    # The expected largest of 64 and of 2,048 normal values is 2.38 and 3.43 deviations.
    assert slowest_of(1) == 1.0
    assert slowest_of(64) == pytest.approx(1 + 2.38 * JITTER, abs=1e-3)
    assert slowest_of(2048) == pytest.approx(1 + 3.43 * JITTER, abs=1e-3)


def test_weight_gradients_put_off_fill_the_bubble_twice_over() -> None:
    # Qi et al. 2023 (arXiv:2401.10241) Table 2: 3 x (1 + 2) s idle with 1F1B, and with ZB-H1
    # 3 x (1 + 1 - 1), half of the backward pass being the weights'.
    plain = schedule([stage(1, 2)] * 4, traffic(), num_micro_batches=8, virtual=1)
    filled = schedule(
        [stage(1, 2)] * 4, traffic(), num_micro_batches=8, virtual=1, order="zero-bubble"
    )
    assert plain.bubble_s == 9
    assert filled.bubble_s == 3
    assert filled.compute_s == plain.compute_s
