"""ZeRO 2 and 3 as single programs ran them: module by module, or a group of micro-batches."""

from __future__ import annotations

from typing import Any

import pytest

from netloom.compute.roofline import NO_COSTS
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.memory import memory, needed_bytes
from netloom.step.memory.states import held_parameters
from netloom.step.schedule import Traffic, layer_exposed_s
from netloom.step.software import practice_named
from netloom.workload.collective import Axis
from netloom.workload.communication import Communication, Window
from netloom.workload.demand import demand
from netloom.workload.placement import Layout, layout
from netloom.workload.transformer import transformer

CATALOG = load_catalog()
GPT_3, GPT_530B = (transformer(CATALOG.model(name)) for name in ("gpt-3-175b", "megatron-530b"))
LLAMA = transformer(CATALOG.model("llama-3.1-405b"))
DEEPSPEED, META = practice_named("deepspeed-2021"), practice_named("llama-3")


def plan_on(node: str, num_gpus: int, **degrees: Any) -> Layout:
    return layout(
        Parallel(**degrees), node=CATALOG.node(node), num_gpus=num_gpus, placement=Placement()
    )


def gathered(shape: Any, num_gpus: int, recompute: str = "full") -> dict[str, Communication]:
    plan = plan_on("dgx-a100", num_gpus, zero=3)
    training = Training.model_validate(
        {"sequence": 2048, "global_batch": num_gpus, "precision": "fp16", "recompute": recompute}
    )
    asked = demand(shape, plan, training, num_micro_batches=1, weights=DEEPSPEED.weights)
    return {item.purpose: item for item in asked.communications}


def test_weights_of_2021_are_gathered_one_by_one_before_every_pass() -> None:
    found = gathered(GPT_3, 384)
    # Forward, again, backward; and gradients: 4 matrices of 96 layers each.
    assert {item.count for item in found.values()} == {4 * 96}
    assert set(found) == {
        "dense weights gathered, forward",
        "dense weights gathered, recompute",
        "dense weights gathered, backward",
        "dense gradients summed, backward",
    }
    assert "dense weights gathered, recompute" not in gathered(GPT_3, 384, recompute="none")


@pytest.mark.parametrize(("num_gpus", "host_s"), [(384, 3.84e-3), (768, 7.68e-3)])
def test_the_host_takes_its_time_for_every_rank(num_gpus: int, host_s: float) -> None:
    # 10 us a rank.
    assert all(one.host_s == pytest.approx(host_s) for one in gathered(GPT_3, num_gpus).values())


def test_where_the_network_takes_no_time_the_gpu_still_waits_for_the_host() -> None:
    found = gathered(GPT_3, 384)
    free = {item.collective: 0.0 for item in found.values()}
    traffic = Traffic(communications=tuple(found.values()), durations_s=free, practice=DEEPSPEED)
    exposed = layer_exposed_s(traffic, NO_COSTS, moe=False)
    assert exposed[Axis.DATA] == pytest.approx(16 * 3.84e-3)  # 4 matrices, 4 times


def test_one_weight_is_gathered_ahead_while_a_thousand_million_are_not_there() -> None:
    # The largest matrix of a layer is 4 h^2: 0.6e9 of GPT-3, 1.7e9 of 530B.
    forward = "dense weights gathered, forward"
    assert gathered(GPT_3, 384)[forward].window is Window.LAYER
    assert gathered(GPT_530B, 1120)[forward].window is Window.NONE
    summed = "dense gradients summed, backward"
    assert gathered(GPT_3, 384)[summed].window is Window.NONE


def meta(num_gpus: int, zero: int) -> tuple[Layout, Training]:
    degrees = {"tensor": 8, "pipeline": 16, "virtual_pipeline": 8, "zero": zero}
    training = {"sequence": 8192, "global_batch": 2048, "recompute": "none"}
    return plan_on("dgx-h100", num_gpus, **degrees), Training.model_validate(training)


@pytest.mark.parametrize(("num_gpus", "sums"), [(16384, 1), (8192, 2)])
def test_gradients_are_summed_once_a_group_of_micro_batches(num_gpus: int, sums: int) -> None:
    # 16 and 32 micro-batches through 16 stages.
    sent = {}
    for zero in (1, 2):
        plan, training = meta(num_gpus, zero)
        count = training.global_batch // plan.data
        asked = demand(LLAMA, plan, training, num_micro_batches=count, weights=META.weights)
        grads = [one for one in asked.on(Axis.DATA) if "summed" in one.purpose]
        sent[zero] = sum(one.size_bytes for one in grads)
    assert sent[2] == pytest.approx(sums * sent[1])


@pytest.mark.parametrize(("num_gpus", "share"), [(16384, 0.931), (8192, 1.018)])
def test_llama_3_as_meta_divided_it(num_gpus: int, share: float) -> None:
    gpu = CATALOG.gpu("H100-SXM-80GB")
    plan, training = meta(num_gpus, 2)
    found = memory(LLAMA, plan, training, gpu=gpu, practice=META)
    held = held_parameters(LLAMA, plan, stage=found.stage)
    # Of the stage's 8 layers one is whole, in fp32.
    assert found.gradients_bytes == pytest.approx(4 * (held.whole / 8 + held.share))
    assert needed_bytes(found) / gpu.memory_bytes == pytest.approx(share, abs=0.002)
