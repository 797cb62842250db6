"""Sets of ranks that share weights (HSDP, MiCS) and what ZeRO++ keeps twice or sends in less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.software import practice_named
from netloom.study.trace.groups import RankGroups, all_groups
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.demand import demand
from netloom.workload.placement import Layout, check_model, layout
from netloom.workload.sharding import (
    PLAIN_WEIGHTS,
    SUMMED_OVER_COPIES,
    WeightFormat,
    data_communications,
)
from netloom.workload.transformer import transformer

CATALOG = load_catalog()
NODE = CATALOG.node("dgx-h100")
SHAPE = transformer(CATALOG.model("llama-3-8b"))
TRAINING = Training(global_batch=128, sequence=8192)


def plan_of(**parallel: Any) -> Layout:
    """Return a layout on 128 GPUs."""
    return layout(Parallel(**parallel), node=NODE, num_gpus=128, placement=Placement())


def scenario(software: str, **parallel: Any) -> nl.Scenario:
    """Return 8B on 128 GPUs."""
    return nl.Scenario.model_validate(
        {
            "cluster": {"nodes": 16, "node": "dgx-h100"},
            "job": {
                "model": "llama-3-8b",
                "training": {"sequence": 8192, "global_batch": 128},
                "parallel": parallel,
                "software": software,
            },
        }
    )


def traffic(**parallel: Any) -> dict[str, tuple[CollectiveKind, int, float]]:
    """Return kind, ranks and bytes of all layers together, by purpose."""
    return {
        item.purpose: (
            item.collective.kind,
            item.collective.group.size,
            32 * item.collective.size_bytes,
        )
        for item in data_communications(SHAPE, plan_of(**parallel), TRAINING)
    }


def test_sets_gather_among_themselves_and_sum_each_share_over_the_others() -> None:
    """8 ranks gather all weights; of 4-byte gradients each sums an eighth over 16 sets."""
    whole, sets = traffic(zero=3), traffic(zero=3, zero_ranks=8)
    for purpose, (kind, ranks, size_bytes) in whole.items():
        assert ranks == 128
        assert sets[purpose] == (kind, 8, size_bytes)
    gradients = whole["dense gradients summed, backward"][2]
    over_copies = sets["dense gradients summed over copies, backward"]
    assert over_copies[:2] == (CollectiveKind.ALL_REDUCE, 16)
    assert over_copies[2] == pytest.approx(gradients / 8)


def test_stages_of_torchtitan_gather_and_sum_once_a_step() -> None:
    """Not for each of 8 micro-batches, as one stage does for its only one."""
    weights = practice_named("torchtitan").weights

    def sent(zero: int, weights: WeightFormat) -> list[tuple[str, int]]:
        plan = plan_of(zero=zero, pipeline=8)
        found = demand(SHAPE, plan, TRAINING, num_micro_batches=8, weights=weights)
        return [(item.purpose, item.count) for item in found.on(Axis.DATA)]

    divided = dict(sent(3, PLAIN_WEIGHTS))
    assert divided["dense weights gathered, forward"] == 8 * 4  # micro-batches x layers of a stage
    assert sent(3, weights) == sent(1, replace(weights, whole_in_pipelines=False))
    assert weights.zero_of(plan_of(zero=3)) == 3
    held = nl.predict(scenario("torchtitan", zero=3, pipeline=8)).step.memory
    alike = nl.predict(scenario("torchtitan", zero=1, pipeline=8)).step.memory
    assert held == alike


def test_zero_plus_plus_sends_half_the_weights_an_eighth_of_fp32_gradients() -> None:
    """And gathers backward in the node, in 16 bits."""
    whole = traffic(zero=3)
    less = traffic(zero=3, zero_compress=("weights", "gradients"), zero_backward_ranks=8)
    forward, backward = (f"dense weights gathered, {way}" for way in ("forward", "backward"))
    assert (less[forward][1], less[backward][1]) == (128, 8)
    assert less[forward][2] == pytest.approx(whole[forward][2] / 2)
    assert less[backward][2] == pytest.approx(whole[backward][2])
    summed = "dense gradients summed, backward"
    assert less[summed][2] == pytest.approx(whole[summed][2] / 8)


def test_a_gpu_of_a_set_holds_as_many_times_more_as_there_are_sets() -> None:
    """16 sets of 8: what ZeRO divides is 16 times that of one set of 128."""
    whole = nl.predict(scenario("torchtitan", zero=3)).step.memory
    sets = nl.predict(scenario("torchtitan", zero=3, zero_ranks=8)).step.memory
    for part in ("weights_bytes", "gradients_bytes", "optimizer_bytes"):
        assert getattr(sets, part) == pytest.approx(16 * getattr(whole, part))


def test_a_second_set_of_weights_is_held_besides() -> None:
    """An eighth of 8 billion in 16 bits, 2 GB."""
    one = nl.predict(scenario("deepspeed", zero=3)).step.memory
    two = nl.predict(scenario("deepspeed", zero=3, zero_backward_ranks=8)).step.memory
    assert two.weights_bytes - one.weights_bytes == pytest.approx(16 * one.weights_bytes)


def test_as_many_ranks_as_copies_are_one_set() -> None:
    """Nothing changes."""
    assert plan_of(zero=3, zero_ranks=128) == plan_of(zero=3)


@pytest.mark.parametrize(
    ("parallel", "says"),
    [
        ({"zero": 3, "zero_ranks": 5}, "zero_ranks: 5 does not divide the 128 copies.*such as 4"),
        ({"zero": 0, "zero_ranks": 8}, "zero_ranks: ZeRO 0 shares nothing"),
        ({"zero": 1, "zero_compress": ("weights",)}, "zero_compress: ZeRO 1 .*set zero: 3"),
        ({"zero": 2, "zero_backward_ranks": 8}, "zero_backward_ranks: ZeRO 2"),
        ({"zero": 3, "zero_ranks": 8, "zero_backward_ranks": 8}, "leave one of the two out"),
    ],
)
def test_sets_that_cannot_be_are_refused(parallel: dict[str, Any], says: str) -> None:
    """With the key and what to write."""
    with pytest.raises(SpecError, match=says):
        plan_of(**parallel)


def test_software_without_it_is_refused_with_one_that_has_it() -> None:
    """Megatron of 2022 knows no sets, torchtitan no ZeRO++."""
    with pytest.raises(SpecError, match=r"zero_ranks: .*such as torchtitan"):
        nl.predict(scenario("megatron-2022", zero=1, zero_ranks=8))
    with pytest.raises(SpecError, match=r"zero_compress: .*such as deepspeed"):
        nl.predict(scenario("torchtitan", zero=3, zero_compress=("weights",)))


def test_no_step_was_compared_and_the_prediction_says_so() -> None:
    """Outside the range."""
    doubts = nl.predict(scenario("torchtitan", zero=3, zero_ranks=8)).step.validity.doubts
    assert "No step with zero_ranks was compared." in doubts


@pytest.mark.parametrize("sets", [{"zero_ranks": 8}, {"zero_backward_ranks": 8}])
def test_traces_name_the_groups_that_ranks_of_a_set_are_in(sets: dict[str, int]) -> None:
    """Neighbours share weights; every eighth rank holds the same share."""
    plan = plan_of(zero=3, **sets)
    groups = all_groups(plan)
    rank = RankGroups(plan=plan, rank=10, num_hop_tags=0)
    for item in data_communications(SHAPE, plan, TRAINING):
        members = groups[rank.name(item)]
        assert len(members) == item.collective.group.size
        assert 10 in members
        apart = 8 if SUMMED_OVER_COPIES in item.purpose else 1
        assert members[1] - members[0] == apart


def test_experts_that_are_not_spread_are_shared_by_the_same_sets_as_the_dense_weights() -> None:
    """Tensor 2 on 128 GPUs: 64 copies; sets of 8 gather, and 8 sets sum each share.

    What is sent must be what memory divides by: 8 sharers of experts, not 64.
    """
    mixture = transformer(CATALOG.model("mixtral-8x7b"))
    plan = plan_of(tensor=2, zero=3, zero_ranks=8)
    assert (plan.sharers, plan.expert_sharers) == (8, 8)
    found = {item.purpose: item.collective for item in data_communications(mixture, plan, TRAINING)}
    for what in ("dense", "expert"):
        gathered = found[f"{what} weights gathered, forward"]
        summed = found[f"{what} gradients summed, backward"]
        copies = found[f"{what} gradients {SUMMED_OVER_COPIES}, backward"]
        assert (gathered.group.size, summed.group.size, copies.group.size) == (8, 8, 8)
        assert copies.size_bytes == pytest.approx(summed.size_bytes / 8)


def test_experts_divided_otherwise_than_dense_weights_are_shared_by_their_own_copies() -> None:
    """Tensor 4, expert 8 x 2 on 128 GPUs: 32 copies of dense weights, 8 of each expert."""
    plan = plan_of(tensor=4, expert=8, expert_tensor=2, zero=1)
    assert (plan.sharers, plan.expert_ranks, plan.expert_sharers) == (32, 16, 8)
    names = all_groups(plan)
    mixture = transformer(CATALOG.model("mixtral-8x7b"))
    ranks = RankGroups(plan=plan, rank=0, num_hop_tags=0)
    groups = {
        item.purpose.split()[0]: names[ranks.name(item)]
        for item in data_communications(mixture, plan, TRAINING)
    }
    assert groups["dense"] == tuple(range(0, 128, 4))
    assert groups["expert"] == tuple(range(0, 128, 16))


@pytest.mark.parametrize("key", ["zero_ranks", "zero_backward_ranks"])
@pytest.mark.parametrize("experts", [{"expert": 4}, {"tensor": 2, "expert_tensor": 1}])
def test_sets_are_refused_where_copies_of_experts_are_other_ranks(
    key: str, experts: dict[str, int]
) -> None:
    mixture = CATALOG.model("mixtral-8x7b")
    with pytest.raises(SpecError, match=key):
        check_model(mixture, plan_of(zero=3, **experts, **{key: 8}))


def test_a_dense_model_has_sets_whatever_its_file_says_of_experts() -> None:
    """torchtitan's files state expert_tensor_parallel_degree = 1 of every model."""
    plan = plan_of(zero=3, tensor=2, expert_tensor=1, zero_ranks=8)
    check_model(CATALOG.model("llama-3-8b"), plan)
    assert plan.sharers == 8
