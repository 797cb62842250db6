"""Memory by training software: types, 8-bit copies, modules computed again, offload."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from netloom.errors import InfeasibleError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Parallel, Placement, Training
from netloom.step.memory import check_memory, fits, in_flight, layer_tensors, memory, needed_bytes
from netloom.step.memory.fit import remedies
from netloom.step.memory.states import states
from netloom.step.software import practice_named
from netloom.step.timeline import orders
from netloom.workload.demand import shard_of
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.step.model import Memory
    from netloom.step.practice import Practice
    from netloom.workload.placement import Layout

CATALOG = load_catalog()
CORE = practice_named("megatron-core-2024")
LLAMA = transformer(CATALOG.model("llama-3.1-405b"))
LAYER = 3_187_703_808  # parameters of one of its layers, norms included


def plan_on(node: str, num_gpus: int, **degrees: Any) -> Layout:
    return layout(
        Parallel(**degrees), node=CATALOG.node(node), num_gpus=num_gpus, placement=Placement()
    )


def trained(**changes: Any) -> Training:
    return Training.model_validate(
        {"sequence": 8192, "global_batch": 1152, "recompute": "none", **changes}
    )


def tensors(practice: Practice, *, model: str = "llama-3.1-405b", **changes: Any) -> Any:
    plan = plan_on("dgx-h100", 512, tensor=8, pipeline=8)
    shape = transformer(CATALOG.model(model))
    training = trained(**changes)
    return layer_tensors(
        shape,
        shard_of(plan, training),
        moe=shape.num_moe_layers > 0,
        training=training,
        practice=practice,
    )


def held_by(practice: Practice, gpu: str, node: str, precision: str) -> Memory:
    plan = plan_on(node, 576, tensor=8, pipeline=9)
    training = trained(precision=precision)
    return states(LLAMA, plan, training, stage=4, gpu=CATALOG.gpu(gpu), practice=practice)


@pytest.mark.parametrize(
    ("software", "gpu", "node", "precision", "weight", "gradient"),
    [
        ("megatron-core-2024", "H100-SXM-80GB", "dgx-h100", "bf16", 2, 4),
        # Weights in 16 bits, and their 8-bit copies: two on Hopper, one of them transposed.
        ("megatron-core-2024", "H100-SXM-80GB", "dgx-h100", "fp8", 4, 4),
        ("megatron-core-2024", "B200-SXM", "dgx-b200", "fp8", 3, 4),
        # 8-bit weights are the copies.
        ("mlperf", "H100-SXM-80GB", "dgx-h100", "fp8", 2, 2),
        ("mlperf", "B200-SXM", "dgx-b200", "fp8", 1, 2),
        # MXFP8 scales rows and columns apart: two copies, alone where the software says so.
        ("megatron-core-2024", "B200-SXM", "dgx-b200", "mxfp8", 4, 4),
        ("megatron-bridge", "B200-SXM", "dgx-b200", "mxfp8", 2, 2),
        ("nemo", "H100-SXM-80GB", "dgx-h100", "bf16", 2, 2),
        # PyTorch casts in every pass and keeps nothing.
        ("torchtitan", "H100-SXM-80GB", "dgx-h100", "fp8", 2, 4),
    ],
)
def test_weights_and_gradients_take_the_bytes_of_the_software(
    software: str, gpu: str, node: str, precision: str, weight: int, gradient: int
) -> None:
    held = held_by(practice_named(software), gpu, node, precision)
    # Nine stages of 14 of the 126 layers, an eighth of each; norms (2 x 16,384) are whole.
    count = 14 * ((LAYER - 2 * 16_384) / 8 + 2 * 16_384)
    assert held.weights_bytes == pytest.approx(weight * count)
    assert held.gradients_bytes == pytest.approx(gradient * count)


def test_what_the_host_holds_of_the_optimizer_the_gpu_does_not() -> None:
    whole, half = (
        held_by(replace(CORE, optimizer_offload=share), "H100-SXM-80GB", "dgx-h100", "bf16")
        for share in (0.0, 0.5)
    )
    assert half.optimizer_bytes == whole.optimizer_bytes / 2
    assert half.weights_bytes == whole.weights_bytes


def test_eight_bit_products_keep_their_inputs_in_eight_bits() -> None:
    wide, narrow = tensors(CORE), tensors(CORE, precision="fp8")
    for name in ("first norm's output", "second norm's output", "out of the activation function"):
        assert narrow[name] == wide[name] / 2
    for name in ("first norm's input", "queries, keys and values", "into the activation function"):
        assert narrow[name] == wide[name]
    # The projection after the attention casts its input; in 16 bits that is the kernel's output.
    assert narrow["projection's input"] == wide["attention's output"] / 2
    assert "projection's input" not in wide


def test_torch_keeps_sixteen_bits_and_its_own_copies() -> None:
    torch = tensors(replace(CORE, kernels="torch", fused=False), precision="fp8")
    assert torch["first norm's output"] == tensors(CORE)["first norm's output"]
    assert torch["projection's input"] == torch["attention's output"]
    assert torch["gate's activation"] == torch["out of the activation function"]


@pytest.mark.parametrize(
    ("modules", "model", "gone"),
    [
        (("layernorm",), "llama-3.1-405b", {"first norm's output", "second norm's output"}),
        (("core_attn",), "llama-3.1-405b", {"softmax's sums"}),
        (
            ("mlp",),
            "llama-3.1-405b",
            {"into the activation function", "out of the activation function"},
        ),
        (
            ("moe_act",),
            "qwen3-30b-a3b",
            {"experts: out of the activation function", "tokens from the experts"},
        ),
        (
            ("moe",),
            "qwen3-30b-a3b",
            {
                "router's probabilities",
                "tokens at the experts",
                "tokens from the experts",
                "experts: into the activation function",
                "experts: out of the activation function",
            },
        ),
        (
            ("shared_experts",),
            "deepseek-v3",
            {
                "shared experts: into the activation function",
                "shared experts: out of the activation function",
            },
        ),
    ],
)
def test_a_module_computed_again_keeps_nothing_inside_it(
    modules: tuple[Any, ...], model: str, gone: set[str]
) -> None:
    whole = tensors(CORE, model=model)
    left = tensors(replace(CORE, recompute_modules=modules), model=model)
    assert set(whole) - set(left) == gone
    assert all(left[name] == whole[name] for name in left)


def test_latent_up_projections_computed_again_keep_the_latents() -> None:
    left = tensors(replace(CORE, recompute_modules=("mla_up_proj",)), model="deepseek-v3")
    # 512 + 64 of keys and values, 1,536 of queries, 2 bytes, an eighth of 8,192 tokens.
    assert left["latent queries, keys and values"] == 2 * 8192 / 8 * (512 + 64 + 1536)


def test_the_first_stage_of_an_uneven_interleaved_pipeline_is_counted_chunk_by_chunk() -> None:
    # 126 layers, 8 stages of 8 chunks: the first chunk has one layer, the other 63 two, but for
    # the last. What the first stage holds at its fullest, counted pass by pass:
    plan = plan_on("dgx-h100", 512, tensor=8, pipeline=8, virtual_pipeline=8)
    kept, most = 0, 0
    for way, chunk, _ in orders(8, 64, virtual=8)[0]:
        layers = 1 if chunk == 0 else 2
        kept += layers if way == "forward" else -layers
        most = max(most, kept)
    found = in_flight(plan, num_micro_batches=64, virtual=8, stage=0, num_layers=15)
    assert most == 127
    assert 15 * found == pytest.approx(most)


@pytest.mark.parametrize(("pipeline", "virtual", "batches"), [(4, 1, 16), (8, 2, 64), (8, 4, 32)])
def test_micro_batches_in_flight_are_those_of_the_schedule(
    pipeline: int, virtual: int, batches: int
) -> None:
    plan = plan_on("dgx-h100", 64, pipeline=pipeline, virtual_pipeline=virtual)
    for stage, passes in enumerate(orders(pipeline, batches, virtual=virtual)):
        signs = [1 if way == "forward" else -1 for way, _, _ in passes]
        most = max(np.cumsum(signs)) / virtual
        found = in_flight(plan, num_micro_batches=batches, virtual=virtual, stage=stage)
        assert found == pytest.approx(most)


def refused(node: str, num_gpus: int, **degrees: Any) -> tuple[Layout, InfeasibleError]:
    plan = plan_on(node, num_gpus, **degrees)
    gpu = CATALOG.gpu(CATALOG.node(node).gpu)
    with pytest.raises(InfeasibleError) as caught:
        check_memory(LLAMA, plan, trained(), gpu=gpu, practice=CORE)
    return plan, caught.value


def test_no_remedy_leaves_the_scale_up_domain() -> None:
    plan, _ = refused("dgx-h100", 1024, tensor=4, pipeline=8)
    gpu = CATALOG.gpu("H100-SXM-80GB")
    found = remedies(LLAMA, plan, trained(), gpu=gpu, practice=CORE)
    degrees = [one.parallel["tensor"] for one in found if "tensor" in one.parallel]
    assert all(degree <= 8 for degree in degrees)
    assert found


def test_remedies_that_cost_no_time_come_first_and_whole_layers_again_last() -> None:
    small = transformer(CATALOG.model("llama-3.1-8b"))
    plan = plan_on("dgx-h100", 64, tensor=2, zero=0, sequence_parallel=False)
    gpu = CATALOG.gpu("H100-SXM-80GB").model_copy(update={"memory_bytes": 70e9})
    training = trained(global_batch=64)
    nemo = replace(CORE, zero_stages=(0, 1, 2, 3))
    names = [one.name for one in remedies(small, plan, training, gpu=gpu, practice=nemo)]
    # 8.03e9 / 2 parameters of 18 bytes are 72 GB; 14 of them with gradients and states divided.
    assert names[0] == "zero: 1"
    assert names.index("zero: 2") < names.index("tensor: 4 with data: 16") < names.index("zero: 3")


def test_stages_of_zero_that_the_software_lacks_are_no_remedy() -> None:
    small = transformer(CATALOG.model("llama-3.1-8b"))
    plan = plan_on("dgx-h100", 64, tensor=2, zero=0, sequence_parallel=False)
    gpu = CATALOG.gpu("H100-SXM-80GB").model_copy(update={"memory_bytes": 70e9})
    found = remedies(small, plan, trained(global_batch=64), gpu=gpu, practice=CORE)
    assert CORE.zero_stages == (0, 1)
    assert {one.parallel["zero"] for one in found if "zero" in one.parallel} == {1}


@pytest.mark.parametrize(("software", "times"), [("megatron-2022", 1), ("nemo", 0)])
def test_a_refusal_tells_of_scores_that_old_software_keeps(software: str, times: int) -> None:
    plan = plan_on("dgx-a100", 1024, tensor=4, pipeline=4)
    gpu = CATALOG.gpu("A100-SXM-80GB")
    with pytest.raises(InfeasibleError) as caught:
        check_memory(LLAMA, plan, trained(), gpu=gpu, practice=practice_named(software))
    assert str(caught.value).count("'attention: flash-2' in job.software") == times


def test_experts_may_be_spread_further_within_the_scale_up_domain() -> None:
    mixtral = transformer(CATALOG.model("mixtral-8x7b"))
    plan = plan_on("dgx-h100", 64, expert=2, zero=1)
    gpu = CATALOG.gpu("H100-SXM-80GB")
    training = trained(sequence=4096, global_batch=64, recompute="selective")
    found = remedies(mixtral, plan, training, gpu=gpu, practice=CORE)
    degrees = [one.parallel["expert"] for one in found if "expert" in one.parallel]
    assert degrees
    assert set(degrees) <= {4, 8}


def test_every_part_is_explained_and_they_add_up() -> None:
    plan = plan_on("dgx-h100", 512, tensor=8, pipeline=8, virtual_pipeline=8, context=2)
    held = memory(
        LLAMA, plan, trained(precision="fp8"), gpu=CATALOG.gpu("H100-SXM-80GB"), practice=CORE
    )
    assert held.why is not None
    told = {one.name: one for one in held.why.parts}
    for name, size in held.parts_bytes().items():
        assert (told[name].value if size else 0) == size
    assert sum(held.parts_bytes().values()) == pytest.approx(held.total_bytes)
    assert needed_bytes(held) == pytest.approx(
        held.total_bytes + float(told["gaps"].value) + float(told["reserved"].value)
    )


# Runs that took place (shared facts: Llama 3 is arXiv:2407.21783 section 3.3.2, the others are
# NVIDIA's published rows), each with the software that ran it.
RAN = [
    (
        "llama-3.1-405b",
        "dgx-h100",
        16384,
        "megatron-core-2024",
        {"global_batch": 2048},
        {"tensor": 8, "pipeline": 16, "virtual_pipeline": 8},
    ),
    (
        "llama-3.1-405b",
        "dgx-h100",
        8192,
        "megatron-core-2024",
        {"global_batch": 2048},
        {"tensor": 8, "pipeline": 16, "virtual_pipeline": 8},
    ),
    (
        "nemotron-4-340b",
        "dgx-h100",
        128,
        "nemo",
        {"sequence": 4096, "global_batch": 32},
        {"tensor": 8, "pipeline": 8, "virtual_pipeline": 12},
    ),
    (
        "llama-3.1-405b",
        "gb200-nvl72",
        256,
        "mlperf",
        {"precision": "fp8"},
        {"tensor": 4, "pipeline": 8, "virtual_pipeline": 8, "context": 2},
    ),
    (
        "gpt-3-175b",
        "dgx-h100",
        256,
        "nemo",
        {"sequence": 2048, "global_batch": 2048, "micro_batch": 2, "precision": "fp8"},
        {"tensor": 4, "pipeline": 8, "virtual_pipeline": 6},
    ),
]


@pytest.mark.parametrize(("model", "node", "num_gpus", "software", "training", "parallel"), RAN)
def test_what_ran_is_not_refused(
    model: str,
    node: str,
    num_gpus: int,
    software: str,
    training: dict[str, Any],
    parallel: dict[str, Any],
) -> None:
    machine = CATALOG.node(node)
    if num_gpus % machine.num_gpus:
        machine = machine.model_copy(update={"num_gpus": 64})
    plan = layout(Parallel(**parallel), node=machine, num_gpus=num_gpus, placement=Placement())
    held = memory(
        transformer(CATALOG.model(model)),
        plan,
        trained(**training),
        gpu=CATALOG.gpu(machine.gpu),
        practice=practice_named(software),
    )
    assert fits(held), f"{needed_bytes(held) / 1e9:.1f} of {held.capacity_bytes / 1e9:.1f} GB"


def test_qwen3_235b_on_long_sequences_fits_with_the_modules_it_computed_again() -> None:
    # Row modelzoo-0017 (Megatron-Core, 128 GB200, 131,072 tokens): moe_act and layernorm again.
    # Without that it would come out 14 % over.
    node = CATALOG.node("gb200-nvl72").model_copy(update={"num_gpus": 64})
    parallel = Parallel(tensor=4, pipeline=4, virtual_pipeline=12, context=4, expert=32)
    plan = layout(parallel, node=node, num_gpus=128, placement=Placement())
    shape = transformer(CATALOG.model("qwen3-235b-a22b"))
    training = trained(sequence=131_072, global_batch=64, precision="fp8")
    core = practice_named("megatron-core-2025")
    shares = []
    for modules in (("layernorm", "moe_act"), ()):
        practice = replace(core, recompute_modules=modules)
        held = memory(shape, plan, training, gpu=CATALOG.gpu("GB200"), practice=practice)
        shares.append(needed_bytes(held) / held.capacity_bytes)
    assert shares[0] < 0.95
    assert shares[1] > 1.1
