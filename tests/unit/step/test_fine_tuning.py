"""Low-rank fine-tuning and packed samples: what they compute, hold and send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from netloom.parts.load import load_catalog
from netloom.spec.scenario import Job, Parallel, Placement, Training
from netloom.spec.tuning import AdaptedModule, Tuning
from netloom.step.memory import layer_tensors, memory
from netloom.step.predict import predict
from netloom.step.software import practice_named
from netloom.workload.adapters import MODULE_OF, adapter_parameters
from netloom.workload.collective import Axis
from netloom.workload.demand import demand, shard_of
from netloom.workload.flops import layer_operators, step_flops
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.step.model import Memory, Step
    from netloom.workload.placement import Layout

CATALOG = load_catalog()
CORE = practice_named("megatron-core-2024")
LLAMA = transformer(CATALOG.model("llama-3.1-70b"))
MODULES = get_args(AdaptedModule)
SOME_MODULES = st.lists(st.sampled_from(MODULES), min_size=1, unique=True)
RANKS = st.sampled_from((4, 8, 16, 32, 64))
# Of llama-3.1-70b: hidden 8192, 64 heads of 128, 8 of keys and values, block 28672 wide, gated.
QKV_SIDES = (8192 + 2 * 1024) + 8192
EVERY_SIDE = QKV_SIDES + 2 * 8192 + (2 * 28672 + 8192) + (8192 + 28672)


def training(**changes: Any) -> Training:
    return Training.model_validate(
        {"sequence": 4096, "global_batch": 64, "recompute": "none", **changes}
    )


def lora(*modules: str, rank: int = 16, **changes: Any) -> dict[str, Any]:
    return {"method": "lora", "rank": rank, "modules": modules or MODULES, **changes}


def plan_of(num_gpus: int = 64, **degrees: Any) -> Layout:
    return layout(
        Parallel(**{"tensor": 8, "pipeline": 2, **degrees}),
        node=CATALOG.node("dgx-h100"),
        num_gpus=num_gpus,
        placement=Placement(),
    )


def held(of: Training, **degrees: Any) -> Memory:
    gpu = CATALOG.gpu("H100-SXM-80GB")
    return memory(LLAMA, plan_of(**degrees), of, gpu=gpu, practice=CORE)


def sent_bytes(of: Training, axis: Axis, **degrees: Any) -> float:
    plan = plan_of(**degrees)
    asked = demand(LLAMA, plan, of, num_micro_batches=of.global_batch // plan.data)
    return sum(item.count * item.collective.size_bytes for item in asked.on(axis))


@pytest.fixture(scope="session")
def step_of(
    network_of: Callable[..., Network], alpha_beta: Callable[..., Engine]
) -> Callable[..., Step]:
    """Return a step of Llama 3.1 70B on 64 H100."""

    def found(**changes: Any) -> Step:
        given_job = {
            "model": "any",
            "training": {"sequence": 4096, "global_batch": 64, "recompute": "none", **changes},
            "parallel": {"tensor": 8, "pipeline": 2},
        }
        return predict(
            Job.model_validate(given_job),
            model=LLAMA.model,
            network=network_of("H100", 64),
            engine=alpha_beta(),
        )

    return found


def test_a_method_alone_is_short_for_its_mapping() -> None:
    assert training(tuning="lora").tuning == Tuning(method="lora")
    assert training().tuning.method == "pretrain"


def test_modules_stand_in_one_order_whatever_the_file_says() -> None:
    found = Tuning(modules=("linear_fc2", "linear_qkv", "linear_fc2")).modules
    assert found == ("linear_qkv", "linear_fc2")


@pytest.mark.parametrize(
    "wrong",
    [
        {"tuning": "dora"},
        {"tuning": {"method": "lora", "rank": 0}},
        {"tuning": {"method": "lora", "modules": ()}},
        {"tuning": {"method": "lora", "modules": ("router",)}},
        {"packed_sequence": 4097},
    ],
)
def test_what_cannot_be_tuned_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        training(**wrong)


def test_frozen_weights_leave_nothing_for_zero_bubble_to_put_off() -> None:
    with pytest.raises(ValidationError, match="zero-bubble"):
        Job.model_validate(
            {
                "model": "any",
                "training": {"global_batch": 64, "tuning": "lora"},
                "parallel": {"schedule": "zero-bubble"},
            }
        )


def test_every_product_of_a_layer_but_the_router_belongs_to_a_module() -> None:
    for name in ("llama-3.1-70b", "deepseek-v3", "gpt-3-175b", "mixtral-8x7b"):
        shape = transformer(CATALOG.model(name))
        shard = shard_of(plan_of(), training())
        for moe in (False, True)[bool(shape.num_moe_layers) :]:
            products = {one.name for one in layer_operators(shape, shard, moe=moe) if one.shape}
            assert products - set(MODULE_OF) <= {"router"}


def test_low_rank_parameters_are_rank_times_both_sides_of_each_matrix() -> None:
    one = adapter_parameters(LLAMA, Tuning(method="lora", modules=("linear_qkv",)), moe=False)
    assert one.total == 16 * QKV_SIDES
    every = adapter_parameters(LLAMA, Tuning(method="lora", rank=8), moe=False)
    assert every.total == 8 * EVERY_SIDE


def test_a_frozen_product_has_one_backward_product_and_two_thin_ones_beside_it() -> None:
    shard = shard_of(plan_of(), training(tuning=lora("linear_qkv")))
    operators = {one.name: one for one in layer_operators(LLAMA, shard, moe=False)}
    frozen = operators["ffn in"]
    assert frozen.frozen
    assert frozen.backward_flops == frozen.flops
    assert operators["qkv"].shape is not None
    rows, columns, inner = operators["qkv"].shape
    assert operators["qkv, low rank in"].shape == (rows, 16.0, inner)
    assert operators["qkv, low rank out"].shape == (rows, columns, 16.0)
    assert operators["qkv, low rank in"].backward_flops == 4 * rows * 16 * inner
    assert "projection, low rank in" not in operators


def test_a_low_rank_step_needs_two_thirds_of_the_products() -> None:
    full, _ = step_flops(LLAMA, training(packed_sequence=1))
    low, _ = step_flops(LLAMA, training(packed_sequence=1, tuning=lora("linear_qkv", rank=1)))
    assert low / full == pytest.approx(2 / 3, rel=0.001)


def test_packed_samples_attend_to_themselves_alone() -> None:
    def attention(packed: int | None) -> float:
        shard = shard_of(plan_of(), training(packed_sequence=packed))
        (found,) = (x for x in layer_operators(LLAMA, shard, moe=False) if x.kind == "attention")
        return found.flops

    assert attention(512) == attention(None) / 8
    assert attention(4096) == attention(None)


def test_only_low_rank_weights_have_gradients_and_optimizer_states() -> None:
    full, low = held(training()), held(training(tuning=lora("linear_qkv")))
    of_gpu = 40 * 16 * QKV_SIDES / 8  # layers of the stage, over the tensor ranks
    assert low.gradients_bytes == 4 * of_gpu
    assert low.optimizer_bytes == 12 * of_gpu / 4  # ZeRO 1 over four copies
    assert low.weights_bytes == full.weights_bytes + 2 * of_gpu


def test_four_bit_weights_hold_4127_thousandths_of_a_bit_each_but_for_the_ends() -> None:
    tuned = lora("linear_qkv", frozen_type="nf4")
    found = held(training(tuning=tuned)).weights_bytes
    ends = 128256 * 8192 / 8
    layers = 40 * (855638016 + 2 * 8192 * 7) / 8
    added = 2 * 40 * 16 * QKV_SIDES / 8
    assert found == pytest.approx(layers * 4.127 / 8 + 2 * ends + added, rel=0.001)


def test_frozen_products_keep_no_input() -> None:
    def kept(tuning: dict[str, Any] | str) -> set[str]:
        of = training(tuning=tuning)
        shard = shard_of(plan_of(), of)
        return set(layer_tensors(LLAMA, shard, moe=False, training=of, practice=CORE))

    gone = {"second norm's output", "out of the activation function"}
    assert kept("pretrain") - kept(lora("linear_qkv")) == gone
    assert kept(lora()) - kept("pretrain") == {"between low-rank products"}


def test_data_parallel_ranks_reduce_only_low_rank_gradients() -> None:
    full = sent_bytes(training(), Axis.DATA)
    low = sent_bytes(training(tuning=lora("linear_qkv")), Axis.DATA)
    # The fuller end stage holds half the layers and one of the two matrices at the ends.
    share = 40 * 16 * QKV_SIDES / (40 * (855638016 + 8 * 2 * 8192) + 128256 * 8192 + 8 * 8192)
    assert low / full == pytest.approx(share, rel=1e-6)


def test_zero_3_still_gathers_frozen_weights_for_both_passes() -> None:
    def gathered(tuning: Any) -> float:
        plan = plan_of(zero=3, tensor=1, pipeline=1)
        asked = demand(LLAMA, plan, training(tuning=tuning), num_micro_batches=1)
        return sum(
            item.count * item.collective.size_bytes
            for item in asked.on(Axis.DATA)
            if "gathered" in item.purpose
        )

    assert gathered("pretrain") < gathered(lora("linear_qkv")) < 1.001 * gathered("pretrain")
    assert gathered(lora(frozen_type="nf4")) < 0.3 * gathered("pretrain")


def test_tensor_ranks_gather_again_only_what_a_gradient_needs() -> None:
    activations = 2 * 4096 * 8192
    full = sent_bytes(training(), Axis.TENSOR, pipeline=1, zero=0)
    one = sent_bytes(training(tuning=lora("linear_qkv")), Axis.TENSOR, pipeline=1, zero=0)
    thin = 2 * 4096 * 16 * 2  # once each way
    num = 80 * 8  # layers, micro-batches of one of eight copies
    assert full - one == num * (activations - thin)


@settings(max_examples=25, deadline=None)
@given(modules=SOME_MODULES, rank=RANKS, precision=st.sampled_from(("bf16", "fp8")))
def test_low_rank_tuning_is_never_slower_nor_larger_than_training_everything(
    step_of: Callable[..., Step], modules: list[str], rank: int, precision: str
) -> None:
    full = step_of(precision=precision, tuning="sft")
    low = step_of(precision=precision, tuning=lora(*modules, rank=rank))
    assert low.duration_s < full.duration_s
    assert low.memory.total_bytes < full.memory.total_bytes
    assert low.model_flops < full.model_flops


@settings(max_examples=15, deadline=None)
@given(modules=SOME_MODULES, rank=RANKS)
def test_a_higher_rank_takes_longer_and_holds_more(
    step_of: Callable[..., Step], modules: list[str], rank: int
) -> None:
    low, high = (step_of(tuning=lora(*modules, rank=n)) for n in (rank, 2 * rank))
    assert low.duration_s < high.duration_s
    assert low.memory.total_bytes < high.memory.total_bytes


def test_sft_takes_as_long_as_pretraining(step_of: Callable[..., Step]) -> None:
    assert step_of(tuning="sft").duration_s == step_of().duration_s


def test_four_bit_weights_change_memory_and_say_that_time_is_not_modelled(
    step_of: Callable[..., Step],
) -> None:
    wide, packed = (step_of(tuning=lora(frozen_type=kind)) for kind in ("bf16", "nf4"))
    assert packed.duration_s == wide.duration_s
    assert packed.memory.total_bytes < wide.memory.total_bytes
    assert any("4-bit" in doubt for doubt in packed.validity.doubts)
