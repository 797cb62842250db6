"""Memory of one GPU, against Korthikanti et al. 2022 (arXiv:2205.05198)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import InfeasibleError
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.memory import (
    check_memory,
    layer_activation_bytes,
    memory,
    memory_validity,
)
from netloom.step.predict import optimizer_bytes
from netloom.step.software import practice_named
from netloom.workload.demand import shard_of
from netloom.workload.parameters import parameters
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.workload.flops import AttentionKernel
    from netloom.workload.placement import Layout


CORE = practice_named("megatron-core-2024")
UNFUSED = practice_named("megatron-2022")


def plan_of(network: Network, **degrees: Any) -> Layout:
    return layout(
        Parallel(**degrees),
        node=network.node,
        num_gpus=network.design.num_gpus,
        placement=Placement(),
    )


@pytest.mark.parametrize(
    ("recompute", "sequence_parallel", "factor"),
    [
        # Table 2, in units of s b h bytes: no parallelism would be 34 + 5 a s / h.
        ("none", False, 10 + 24 / 8 + 5 * 96 * 2048 / (12288 * 8)),
        ("none", True, 34 / 8 + 5 * 96 * 2048 / (12288 * 8)),
        ("selective", True, 34 / 8),
        ("full", False, 2),
    ],
)
def test_a_gpt_layer_keeps_what_table_2_says(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    recompute: str,
    sequence_parallel: bool,  # noqa: FBT001
    factor: float,
) -> None:
    plan = plan_of(network_of("A100", 64), tensor=8, sequence_parallel=sequence_parallel)
    training = Training.model_validate(
        {"sequence": 2048, "global_batch": 8, "micro_batch": 1, "recompute": recompute}
    )
    kept = layer_activation_bytes(
        transformer(model_of("gpt-3-175b")),
        shard_of(plan, training),
        moe=False,
        training=training,
        practice=UNFUSED,
    )
    assert kept == pytest.approx(factor * 2048 * 12288)


@pytest.mark.parametrize("attention", ["fused", "unfused"])
def test_fused_attention_never_keeps_the_scores(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    attention: AttentionKernel,
) -> None:
    plan = plan_of(network_of("A100", 64), tensor=8)
    kept = {
        how: layer_activation_bytes(
            transformer(model_of("gpt-3-175b")),
            shard_of(plan, training),
            moe=False,
            training=training,
            practice=replace(CORE, attention=attention),
        )
        for how in ("none", "selective")
        for training in [Training.model_validate({"global_batch": 8, "recompute": how})]
    }
    # Fused kernels keep 4 bytes of sums a head and token, of 96 heads; scores are 2048 times that.
    sums = 4 * 4096 * 96 / 8
    left = kept["none"] - kept["selective"]
    assert left == pytest.approx(sums) if attention == "fused" else left > 1000 * sums


def test_zero_divides_what_it_says(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    # Llama 3.1 8B on 64 data ranks, 8.03e9 parameters: 2 + 4 + 12 bytes each, of which ZeRO 1
    # divides the 12 by 64, ZeRO 2 the 4 as well, ZeRO 3 all.
    network = network_of("H100", 64)
    shape = transformer(model_of("llama-3.1-8b"))
    training = Training(global_batch=64)
    held = [
        memory(shape, plan_of(network, zero=zero), training, gpu=network.gpu, practice=CORE)
        for zero in range(4)
    ]
    count = 8_030_261_248
    found = [one.weights_bytes + one.gradients_bytes + one.optimizer_bytes for one in held]
    expected = [18, 6 + 12 / 64, 2 + 16 / 64, 18 / 64]
    assert found == pytest.approx([each * count for each in expected])


def test_the_first_stage_holds_a_micro_batch_for_every_stage(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    # p micro-batches of L/p layers are L layers whatever p is, 34 s b h / t each with
    # selective recomputation; with v virtual stages 1 + (p - 1)/(p v) of it (section 4.2.3).
    network = network_of("A100", 512)
    shape = transformer(model_of("gpt-3-175b"))
    training = Training(sequence=2048, global_batch=512)
    layer = 34 * 2048 * 12288 / 8
    plain = memory(
        shape, plan_of(network, tensor=8, pipeline=8), training, gpu=network.gpu, practice=CORE
    )
    assert plain.activations_bytes == pytest.approx(96 * layer)
    plan = plan_of(network, tensor=8, pipeline=8, virtual_pipeline=3)
    woven = memory(shape, plan, training, gpu=network.gpu, practice=CORE)
    assert woven.activations_bytes == pytest.approx(96 * layer * (1 + 7 / (8 * 3)))


def test_few_micro_batches_fill_less_of_the_pipeline(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network = network_of("A100", 512)
    shape = transformer(model_of("gpt-3-175b"))
    plan = plan_of(network, tensor=8, pipeline=8)
    full = memory(
        shape, plan, Training(sequence=2048, global_batch=512), gpu=network.gpu, practice=CORE
    )
    two = memory(
        shape, plan, Training(sequence=2048, global_batch=16), gpu=network.gpu, practice=CORE
    )
    assert two.activations_bytes == pytest.approx(full.activations_bytes * 2 / 8)


def test_a_model_that_does_not_fit_names_need_have_and_what_would_help(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network = network_of("H100", 64)
    shape = transformer(model_of("llama-2-70b"))
    with pytest.raises(InfeasibleError) as caught:
        check_memory(
            shape,
            plan_of(network, tensor=4),
            Training(global_batch=64),
            gpu=network.gpu,
            practice=replace(CORE, zero_stages=(0, 1, 2, 3)),
        )
    text = str(caught.value)
    # 68.98e9 / 4 parameters x 6 bytes is 103 GB before anything else.
    assert "llama-2-70b needs" in text
    assert "H100 has 85.9GB" in text
    for remedy in ("zero: 3", "tensor: 8 with data: 8", "pipeline: 4 with data: 4"):
        assert remedy in text
    assert "recompute: full" not in text


def test_the_405b_of_the_design_example_fits(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network = network_of("H100", 16384)
    held = check_memory(
        transformer(model_of("llama-3.1-405b")),
        plan_of(network, tensor=8, pipeline=16),
        Training(sequence=8192, global_batch=2048),
        gpu=network.gpu,
        practice=CORE,
    )
    # The second stage has 8 of the 126 layers, the first 7, and 15 micro-batches in flight.
    assert held.total_bytes < held.capacity_bytes


def test_a_job_near_the_edge_is_doubted_and_not_refused(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network = network_of("H100", 512)
    plan = plan_of(network, tensor=8, pipeline=8, context=2, virtual_pipeline=8)
    held = check_memory(
        transformer(model_of("llama-3.1-405b")),
        plan,
        Training(sequence=8192, global_batch=256, recompute="none"),
        gpu=network.gpu,
        practice=CORE,
    )
    assert "may not fit" in memory_validity(held).doubts[0]


@pytest.mark.parametrize("zero", [0, 1])
def test_the_update_moves_every_weight_that_is_held_and_its_state(
    model_of: Callable[..., Model], network_of: Callable[..., Network], zero: int
) -> None:
    # Mixtral on 64 GPUs, experts over 8 of them: each holds all dense weights and one of 8 experts;
    # ZeRO divides dense ones by 64 and experts by the 8 GPUs that hold the same.
    plan = plan_of(network_of("H100", 64), expert=8, zero=zero)
    shape = transformer(model_of("mixtral-8x7b"))
    expert = 3 * 4096 * 14_336 * 32  # three matrices in each of 32 layers
    dense = parameters(shape.model) - 8 * expert
    share = (64, 8) if zero else (1, 1)
    # Adam reads four fp32 values, writes three and a 16-bit weight, reads the gradient once more.
    expected = (4 * 4 + 3 * 4 + 2 + 4) * (dense / share[0] + expert / share[1])
    assert optimizer_bytes(shape, plan) == pytest.approx(expected)
