"""How software runs a mixture of experts: dispatch, overlap, launch and light recomputation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.compute.device import INSTRUCTION_RATES, h200
from netloom.compute.roofline import costs, roofline
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Job, Parallel, Placement, Training
from netloom.step.memory import memory
from netloom.step.residual import Residual
from netloom.step.software import practice_for, practice_named
from netloom.step.stages import clock_of, layer_costs
from netloom.workload.collective import Axis
from netloom.workload.communication import Window
from netloom.workload.demand import demand, once_per_place, shard_of
from netloom.workload.flops import (
    BROADCAST_RATE,
    JOINED_RATE,
    STRIDED_RATE,
    Operator,
    Shard,
    forward_flops_per_token,
    layer_operators,
    recomputed_flops_per_token,
)
from netloom.workload.placement import check_router, layout
from netloom.workload.recomputation import is_again
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.network import Network
    from netloom.parts.parts import Gpu, Model
    from netloom.spec.software import RecomputedModule
    from netloom.workload.demand import Demand

JOB = {"sequence": 4096, "global_batch": 64, "micro_batch": 1}


def asked(network: Network, model: Model, **parallel: Any) -> Demand:
    plan = layout(
        Parallel(expert=32, **parallel), node=network.node, num_gpus=32, placement=Placement()
    )
    return demand(transformer(model), plan, Training.model_validate(JOB), num_micro_batches=2)


def test_a_token_that_is_sent_once_to_a_node_takes_less_of_the_network(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network, model = network_of("H100", 32), model_of("deepseek-v3")
    plain = asked(network, model).on(Axis.EXPERT)
    once = asked(network, model, expert_dispatch="once-per-node").on(Axis.EXPERT)
    # Eight experts on four nodes are on 4 (1 - 0.75^8) = 3.6 of them: 0.45 of eight copies.
    assert once_per_place(8, 4) == pytest.approx(0.44994, abs=1e-5)
    for one, other in zip(once, plain, strict=True):
        assert one.size_bytes / other.size_bytes == pytest.approx(once_per_place(8, 4))
    assert once_per_place(8, 1) == 1.0


def test_dispatch_hides_behind_a_layer_only_when_asked(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network, model = network_of("H100", 32), model_of("deepseek-v3")
    assert {item.window for item in asked(network, model).on(Axis.EXPERT)} == {Window.NONE}
    found = asked(network, model, expert_overlap=True).on(Axis.EXPERT)
    assert {item.window for item in found} == {Window.LAYER}


def grouped(num: float) -> Operator:
    rows, columns, inner = 16384.0, 4096.0, 7168.0
    flops = 2 * rows * columns * inner
    return Operator(
        name="experts in",
        kind="matmul",
        flops=flops,
        size_bytes=1.0,
        backward_flops=2 * flops,
        backward_bytes=1.0,
        shape=(rows, columns, inner),
        num=num,
    )


def test_a_grouped_product_is_slower_the_fewer_tokens_an_expert_has(
    gpu_of: Callable[[str], Gpu],
) -> None:
    machine = roofline(gpu_of("H100"), "bf16")
    forward = [machine.forward_s(grouped(num)) for num in (1, 8, 32, 128)]
    backward = [machine.backward_s(grouped(num)) for num in (1, 8, 32, 128)]
    assert forward == sorted(forward)
    assert backward == sorted(backward)
    # 128 experts of 128 tokens each: the small tile, at 1.75 times the time of the large one, and
    # 7.5 GB of matrices that stream at 0.744 of the memory rate take as long.
    weights_s = 2 * 128 * 4096 * 7168 / (0.744 * machine.memory_bytes_per_s)
    assert max(1.75 * forward[0], weights_s) < forward[3] < 1.75 * forward[0] + weights_s
    # Their weight gradients have 128 inner terms to a ramp of 171.
    assert backward[3] / backward[0] > (1 + 171 / 128) / 2


def test_light_recomputation_repeats_norms_activations_and_up_projections(
    model_of: Callable[..., Model], gpu_of: Callable[[str], Gpu]
) -> None:
    shape = transformer(model_of("deepseek-v3"))
    shard = Shard(micro_batch=1, sequence=4096, expert=8)
    operators = layer_operators(shape, shard, moe=True)
    again = {one.name for one in operators if one.cheap}
    assert again == {
        "norm",
        "latent norm",
        "query up",
        "key-value up",
        "rotary",
        "experts activation",
        "shared experts activation",
    }
    machine = roofline(gpu_of("H100"), "bf16")
    light = costs(operators, machine, recompute="light")
    cheap = sum(machine.forward_s(one) for one in operators if one.cheap)
    assert light.recompute_s == pytest.approx(cheap)
    assert light.recompute_s < 0.35 * costs(operators, machine, recompute="full").recompute_s
    # Up-projections of DeepSeek-V3: 1536 x 24576 for queries, 512 x 32768 for keys and values.
    flops = 61 * 2 * (1536 * 24576 + 512 * 32768)
    assert recomputed_flops_per_token(shape, 4096, "light") == pytest.approx(flops)
    assert flops < 0.1 * forward_flops_per_token(shape, 4096)


def test_light_recomputation_keeps_less_than_none_and_more_than_full(
    model_of: Callable[..., Model], gpu_of: Callable[[str], Gpu], network_of: Callable[..., Network]
) -> None:
    node = network_of("H100", 64).node
    plan = layout(Parallel(pipeline=8, expert=8), node=node, num_gpus=64, placement=Placement())
    kept = {
        how: memory(
            transformer(model_of("deepseek-v3")),
            plan,
            Training.model_validate({**JOB, "recompute": how}),
            gpu=gpu_of("H100"),
            practice=practice_named("megatron-core-2024"),
        ).activations_bytes
        for how in ("none", "light", "full")
    }
    assert kept["full"] < kept["light"] < kept["none"]


def test_a_short_layer_with_experts_waits_for_its_launch(
    model_of: Callable[..., Model], gpu_of: Callable[[str], Gpu]
) -> None:
    shape = transformer(model_of("qwen3-30b-a3b"))
    shard = Shard(micro_batch=1, sequence=4096, expert=8)
    training = Training.model_validate(JOB)
    times = {}
    for practice in map(practice_named, ("torchtitan", "megatron-core-2024", "megatron-bridge")):
        clock = clock_of(gpu_of("H100"), training, residual=Residual(), practice=practice)
        layer = layer_costs(shape, shard, clock, moe=True, recompute="none")
        times[practice.name] = layer.total_s + clock.host_s(layer, 0.0, moe=True)
    # Two passes of 4.4 ms each, unless the GPU needs longer; Megatron-Bridge's layers are
    # Megatron-Core's, and of torchtitan's launches nothing is known.
    assert times["torchtitan"] < 8.8e-3 < times["megatron-bridge"] < 11e-3
    assert times["megatron-core-2024"] == times["megatron-bridge"]


def test_graphs_of_some_parts_leave_the_launches_of_the_others() -> None:
    graphs = replace(practice_named("megatron-bridge"), cuda_graphs=True)
    routed = replace(graphs, graph_scope=("moe_router", "moe_preprocess"))
    most = replace(graphs, graph_scope=("attn", "moe_router", "moe_preprocess"))
    assert graphs.launch_s(moe=True) == 0.0
    assert routed.launch_s(moe=True) == pytest.approx(3.1e-3)
    # Of what is left, attention and experts are launched in 1.918 and 1.574 ms on one H200.
    assert most.launch_s(moe=True) == pytest.approx(3.1e-3 * 1.574 / 3.492)
    # Where the host reads the counts back, no graph helps: measured at +1.5 %.
    assert replace(most, reads_counts=True).launch_s(moe=True) == 4.4e-3


def test_clamps_are_part_of_the_activation_and_biases_of_the_experts(
    model_of: Callable[..., Model],
) -> None:
    model = model_of("qwen3-30b-a3b").model_copy(update={"biases": True, "clamped": True})
    operators = layer_operators(transformer(model), Shard(micro_batch=1, sequence=4096), moe=True)

    def again(module: RecomputedModule) -> set[str]:
        return {one.name for one in operators if is_again(one, (module,))}

    assert again("moe_act") == {"experts clamp", "experts joined", "experts activation"}
    clamps = {"experts clamp", "experts joined"}
    assert again("moe") >= clamps | {"experts bias", "experts bias product", "experts out"}


def test_a_window_leaves_the_keys_out_that_it_does_not_reach(
    model_of: Callable[..., Model],
) -> None:
    plain = model_of("qwen3-30b-a3b")
    windowed = plain.model_copy(update={"window": 128, "window_interval": 2})
    shard = Shard(micro_batch=1, sequence=4096, expert=8)
    whole, some = (
        next(one for one in layer_operators(transformer(m), shard, moe=True) if one.core_attention)
        for m in (plain, windowed)
    )
    # Half of the layers look at 128 tokens, and a kernel at one block of 128 more: a 16th of 4,096
    # is 2/16 - 1/256 of the causal half square.
    share = 1 / 2 + (2 / 16 - 1 / 256) / 2
    assert some.flops == pytest.approx(share * whole.flops)
    assert some.size_bytes == whole.size_bytes
    longer = windowed.model_copy(update={"window": 8192})
    assert forward_flops_per_token(transformer(longer), 4096) == forward_flops_per_token(
        transformer(plain), 4096
    )


def test_biases_of_experts_are_added_expert_by_expert(model_of: Callable[..., Model]) -> None:
    plain = model_of("qwen3-30b-a3b")
    shard = Shard(micro_batch=1, sequence=4096)
    biased = transformer(plain.model_copy(update={"biases": True}))
    found = [one for one in layer_operators(biased, shard, moe=True) if "experts bias" in one.name]
    assert sum(one.size_bytes for one in found) == 28 * 8 * 4096 * 2048
    assert sum(one.backward_bytes for one in found) == 36 * 8 * 4096 * 2048
    names = {one.name for one in layer_operators(transformer(plain), shard, moe=True)}
    assert "experts bias" not in names


def test_clamps_before_the_activation_are_kernels_of_their_own(
    model_of: Callable[..., Model],
) -> None:
    shape = transformer(model_of("qwen3-30b-a3b").model_copy(update={"clamped": True}))
    operators = layer_operators(shape, Shard(micro_batch=1, sequence=4096), moe=True)
    found = [one for one in operators if one.name in {"experts clamp", "experts joined"}]
    assert sum(one.size_bytes for one in found) == 16 * 8 * 4096 * 768
    assert sum(one.backward_bytes for one in found) == 20 * 8 * 4096 * 768


def test_kernels_that_compute_addresses_have_the_pace_of_the_h200s() -> None:
    device = h200()
    assert pytest.approx(device.memory_rate("strided"), rel=0.01) == STRIDED_RATE
    assert pytest.approx(device.memory_rate("broadcast"), rel=0.01) == BROADCAST_RATE
    assert INSTRUCTION_RATES["joined_heads"] == JOINED_RATE


@pytest.mark.parametrize(
    ("gpu", "graphed", "ratio"),
    [
        # 83 % of 3.35 and of 8 TB/s over 0.97; graphs of whole layers hold fused kernels.
        ("H100-SXM-80GB", "", 0.83 * 3.35 / 0.97),
        ("B200-SXM", "", 0.83 * 8 / 0.97),
        ("B200-SXM", "all", 1.0),
    ],
)
def test_halves_are_joined_no_faster_on_a_faster_memory(
    model_of: Callable[..., Model],
    gpu: str,
    graphed: str,
    ratio: float,
) -> None:
    shape = transformer(model_of("qwen3-30b-a3b").model_copy(update={"clamped": True}))
    operators = layer_operators(shape, Shard(micro_batch=4, sequence=4096), moe=True)
    joined = next(one for one in operators if one.name == "experts joined")
    practice = replace(practice_named("megatron-bridge"), cuda_graphs=bool(graphed))
    training = Training(sequence=4096, global_batch=64)
    part = load_catalog().gpu(gpu)
    clock = clock_of(part, training, residual=Residual(), practice=practice)
    paced = clock.costs([joined], recompute="none").forward_s
    plain = clock.costs([replace(joined, paces=None)], recompute="none").forward_s
    assert paced / plain == pytest.approx(ratio, rel=0.05)


def test_a_router_that_chooses_groups_keeps_a_token_to_four_nodes() -> None:
    # 8 experts on 4 nodes: 4 (1 - (3/4)^8) = 3.6 of them; on 8 nodes it would be 5.25.
    assert once_per_place(8, 8, most=4) == pytest.approx(once_per_place(8, 4))
    assert once_per_place(8, 8) == pytest.approx(5.2511 / 8, abs=1e-4)
    assert once_per_place(8, 2, most=4) == once_per_place(8, 2)


def test_megatron_bridge_launches_kernel_by_kernel_where_it_has_no_graphs(
    gpu_of: Callable[[str], Gpu],
) -> None:
    job = Job.model_validate({"model": "any", "software": "megatron-bridge"})
    assert practice_for(job, gpu_of("H100")).launch_s(moe=True) == 4.4e-3
    superchip = gpu_of("H100").model_copy(update={"name": "GB300"})
    assert practice_for(job, superchip).launch_s(moe=True) == 0.0


def test_the_busiest_rank_of_a_trained_router_works_and_receives_more(
    network_of: Callable[..., Network], model_of: Callable[..., Model]
) -> None:
    network, model = network_of("H100", 32), model_of("deepseek-v3")
    plan = layout(Parallel(expert=32), node=network.node, num_gpus=32, placement=Placement())
    shape = transformer(model)

    def rows_and_skew(**training: Any) -> tuple[float, float]:
        told = Training.model_validate({**JOB, **training})
        shard = shard_of(plan, told)
        found = next(
            one for one in layer_operators(shape, shard, moe=True) if one.name == "experts in"
        )
        (exchange, *_) = demand(shape, plan, told, num_micro_batches=2).on(Axis.EXPERT)
        assert found.shape is not None
        return found.shape[0], exchange.collective.skew

    even, uneven = rows_and_skew(), rows_and_skew(router_imbalance="20%")
    assert uneven == pytest.approx(tuple(1.2 * value for value in even))
    # A capacity of the mean leaves what each rank sends on average: 8 experts of 4,096 tokens.
    assert rows_and_skew(router_imbalance="20%", expert_capacity=1.0) == (8 * 4096, 1.0)
    assert rows_and_skew(expert_capacity=2.0) == even


@pytest.mark.parametrize(
    ("name", "value"),
    [("router_imbalance", "20%"), ("router_choice", "neighbours"), ("expert_capacity", 1.25)],
)
def test_a_dense_model_refuses_what_is_about_routers(name: str, value: Any) -> None:
    training = Training.model_validate({**JOB, name: value})
    catalog = load_catalog()
    check_router(catalog.model("mixtral-8x7b"), training)
    with pytest.raises(SpecError, match=rf"job.training.{name}: it is about a router of experts"):
        check_router(catalog.model("llama-3.1-8b"), training)


def test_tokens_over_a_capacity_need_no_counts_on_the_host(gpu_of: Callable[[str], Gpu]) -> None:
    told = {"model": "any", "parallel": {"expert": 8}, "training": {"global_batch": 8}}
    dropless = Job.model_validate(told)
    dropping = Job.model_validate({**told, "training": {"global_batch": 8, "expert_capacity": 1}})
    assert practice_for(dropless, gpu_of("H100")).reads_counts
    assert not practice_for(dropping, gpu_of("H100")).reads_counts
