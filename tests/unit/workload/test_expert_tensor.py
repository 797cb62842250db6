"""Experts that several GPUs share, folded over tensor, context and data ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.load import load
from netloom.spec.scenario import Training
from netloom.workload.collective import Axis, CollectiveKind
from netloom.workload.demand import demand, shard_of
from netloom.workload.flops import layer_operators
from netloom.workload.placement import Layout, axis_group, expert_data_group
from netloom.workload.sharding import stage_parameters
from netloom.workload.transformer import transformer

CATALOG = load_catalog()
SHAPE = transformer(CATALOG.model("mixtral-8x7b"))
TRAINING = Training.model_validate({"sequence": 4096, "global_batch": 64})
TOKENS, HIDDEN, WIDE, CHOSEN = 4096, 4096, 14336, 2
PLAN = Layout(
    tensor=4,
    context=1,
    data=8,
    pipeline=1,
    virtual_pipeline=1,
    expert=4,
    zero=1,
    sequence_parallel=True,
    gpus_per_node=8,
    displaced=0.0,
)


def asked(plan: Layout) -> list[Any]:
    found = demand(SHAPE, plan, TRAINING, num_micro_batches=8)
    return [one for one in found.communications if one.per == "moe-layer"]


def test_ranks_of_one_expert_are_neighbours_and_copies_far_apart() -> None:
    # 32 GPUs of a stage: 2 to an expert, 4 groups of experts, 4 copies (Megatron-Core's
    # expert rank generator: tp-ep-dp).
    plan = replace(PLAN, expert_tensor=2)
    assert (plan.expert_split, plan.expert_ranks, plan.expert_data) == (2, 8, 4)
    assert (axis_group(plan, Axis.EXPERT).size, axis_group(plan, Axis.EXPERT).per_node) == (4, 4)
    assert (expert_data_group(plan).size, expert_data_group(plan).per_node) == (4, 1)


def test_left_out_spread_experts_are_whole_and_others_divided_as_all_matrices() -> None:
    assert PLAN.expert_split == 1
    assert replace(PLAN, expert=1).expert_split == 4
    assert replace(PLAN, expert=1).expert_data == PLAN.replicas


@pytest.mark.parametrize(("expert", "split"), [(1, 1), (1, 4), (2, 2), (4, 2), (8, 4)])
def test_a_gpu_holds_its_part_of_its_experts(expert: int, split: int) -> None:
    plan = replace(PLAN, expert=expert, expert_tensor=split)
    held = stage_parameters(SHAPE, plan, stage=0).experts
    assert held == 32 * 8 * 3 * HIDDEN * WIDE / (expert * split)


@pytest.mark.parametrize(("expert", "split"), [(1, 2), (2, 2), (8, 4)])
def test_dividing_experts_leaves_the_work_and_narrows_the_products(expert: int, split: int) -> None:
    def up(plan: Layout) -> Any:
        even = replace(shard_of(plan, TRAINING), expert_capacity=1.0)
        operators = layer_operators(SHAPE, even, moe=True)
        return next(one for one in operators if one.name == "experts in")

    divided, whole = (up(replace(PLAN, expert=expert, expert_tensor=one)) for one in (split, 1))
    assert divided.flops == pytest.approx(whole.flops)
    assert divided.shape[0] == pytest.approx(split * whole.shape[0])
    assert divided.shape[1] == pytest.approx(whole.shape[1] / split)


def test_tokens_at_divided_experts_are_gathered_and_their_outputs_scattered() -> None:
    plan = replace(PLAN, expert_tensor=2)
    items = asked(plan)
    shared = [one for one in items if one.axis is Axis.TENSOR]
    assert [one.collective.kind for one in shared if one.phase == "forward"] == [
        CollectiveKind.ALL_GATHER,
        CollectiveKind.REDUCE_SCATTER,
    ]
    # A quarter of the tokens each, twice, two ranks, in 16 bits, and what chance adds.
    whole = 2 * TOKENS / 4 * CHOSEN * 2 * HIDDEN
    load = shard_of(plan, TRAINING).expert_load(TOKENS / 4 * CHOSEN * 4)
    assert shared[0].collective.size_bytes == pytest.approx(whole * load)
    assert shared[0].collective.group.size == 2
    exchange = [one for one in items if one.axis is Axis.EXPERT]
    assert {one.collective.group.size for one in exchange} == {4}


def test_deepep_sends_a_token_to_every_rank_of_its_experts() -> None:
    plain = asked(replace(PLAN, expert_dispatch="deepep", expert=2))
    divided = asked(replace(PLAN, expert_dispatch="deepep", expert=2, expert_tensor=2))
    assert [one.axis for one in divided] == [Axis.EXPERT] * 2
    assert divided[0].collective.group.size == 4
    assert divided[0].collective.size_bytes == 2 * plain[0].collective.size_bytes


def test_divided_tokens_go_to_whole_experts_without_meeting() -> None:
    # Of both halves of a layer only the attention gathers: Mixtral has no shared experts.
    found = demand(SHAPE, PLAN, TRAINING, num_micro_batches=8).communications
    forward = [one for one in found if one.axis is Axis.TENSOR and one.phase == "forward"]
    assert [(one.each, one.count) for one in forward if one.per == "layer"] == [(1, 256), (1, 256)]
    assert all(one.count == 0 for one in forward if one.per == "dense-layer")
    shared = transformer(CATALOG.model("deepseek-v3"))
    both = demand(shared, PLAN, TRAINING, num_micro_batches=8).communications
    assert {one.each for one in both if one.axis is Axis.TENSOR and one.phase == "forward"} == {2}


def scenario(**parallel: Any) -> Any:
    return load(
        {
            "name": "divided",
            "cluster": {"gpus": 32, "node": "dgx-h100"},
            "job": {
                "model": "mixtral-8x7b",
                "training": {"sequence": 4096, "global_batch": 64},
                "parallel": {"tensor": 4, "expert": 4, "zero": 1, **parallel},
            },
        }
    )


def test_a_step_with_divided_experts_takes_longer_and_needs_less() -> None:
    whole, divided = nl.predict(scenario()).step, nl.predict(scenario(expert_tensor=2)).step
    assert divided.communication_s[Axis.TENSOR] > whole.communication_s[Axis.TENSOR]
    assert divided.memory.weights_bytes < whole.memory.weights_bytes
    assert any("expert_tensor" in doubt for doubt in divided.validity.doubts)


def test_a_plan_keeps_the_jobs_own_division() -> None:
    found = nl.plan(scenario(expert_tensor=2))
    best = found.best[0] if found.best else found.outside
    assert best is not None
    assert best.configuration.tensor * best.configuration.data % 2 == 0
    wanted = scenario(expert_tensor=2)
    assert wanted.job.parallel.expert_tensor == 2


@pytest.mark.parametrize(
    ("parallel", "key"),
    [
        ({"expert_tensor": 3}, "expert_tensor"),
        ({"expert_tensor": 16}, "expert_tensor"),
        ({"expert_tensor": 2, "sequence_parallel": False}, "sequence_parallel"),
        ({"expert": 1, "expert_tensor": 1, "sequence_parallel": False}, "sequence_parallel"),
    ],
)
def test_a_division_that_cannot_be_is_refused_by_its_key(
    parallel: dict[str, Any], key: str
) -> None:
    with pytest.raises(SpecError, match=key):
        nl.predict(scenario(**parallel))


@pytest.mark.parametrize(
    ("dispatch", "choice", "expert", "share"),
    [
        # Two of eight experts, one to a GPU of a node: 8 (1 - (7/8)^2) GPUs.
        ("deepep", "any", 8, 8 * (1 - (7 / 8) ** 2) / 2),
        ("deepep", "neighbours", 8, 1.0),  # a GPU each
        ("deepep", "neighbours", 4, 0.5),  # both on one GPU
        ("hybridep", "any", 8, 1.0),  # a copy for each expert
        ("all-to-all", "neighbours", 4, 1.0),
    ],
)
def test_deepep_sends_a_token_once_to_a_gpu(
    dispatch: Any, choice: Any, expert: int, share: float
) -> None:
    plan = replace(PLAN, tensor=1, sequence_parallel=False, expert=expert, expert_dispatch=dispatch)
    training = TRAINING.model_copy(update={"router_choice": choice})
    found = demand(SHAPE, plan, training, num_micro_batches=8).communications
    exchange = next(one for one in found if one.axis is Axis.EXPERT)
    whole = 2 * TOKENS * CHOSEN * HIDDEN
    assert exchange.collective.size_bytes == pytest.approx(share * whole)


def test_neighbours_are_on_one_node_of_several() -> None:
    # DeepSeek-V3's 256 experts over 8 nodes: 32 to a node, of which a token visits 8 in a row.
    shape = transformer(CATALOG.model("deepseek-v3"))
    plan = replace(
        PLAN, tensor=1, sequence_parallel=False, data=64, expert=64, expert_dispatch="deepep"
    )
    sizes = {}
    for choice in ("any", "neighbours"):
        training = TRAINING.model_copy(update={"router_choice": choice})
        found = demand(shape, plan, training, num_micro_batches=1).communications
        exchange = next(one for one in found if one.axis is Axis.EXPERT)
        sizes[choice] = exchange.collective.size_bytes
    assert sizes["neighbours"] == pytest.approx(2 * 4096 * 7168)
    assert sizes["any"] / sizes["neighbours"] == pytest.approx(4 * (1 - 0.75**8))
