"""What the named software, and each switch, does to a step."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import SpecError
from netloom.spec.scenario import Job
from netloom.spec.software import PRACTICES, Software
from netloom.step.practice import Practice
from netloom.step.predict import optimizer_bytes, predict
from netloom.step.software import practice_for, practice_named, switches_of
from netloom.workload.collective import Axis
from netloom.workload.placement import layout
from netloom.workload.sharding import WeightFormat, data_communications
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Gpu, Model
    from netloom.step.model import Step

# What each switch, turned against Megatron-Core 2024, sets; what a step makes of it is below.
SWITCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tensor_overlap": (False, {"tensor_hidden": 0.0}),
    "pipeline_overlap": (False, {"pipeline_hidden": 0.0}),
    "data_overlap": (False, {"overlaps_data": False}),
    "bucket_bytes": ("80MB", {"bucket_bytes": 80e6}),
    "attention": ("flash-2", {"flash": 2}),
    "cuda_graphs": (True, {"cuda_graphs": True}),
    "gradient_type": ("bf16", {"gradient_bytes": 2}),
    "parameter_type": ("fp8", {"parameter_bytes": 1}),
    "recompute_modules": (("moe_act",), {"recompute_modules": ("moe_act",)}),
    "optimizer_offload": ("50%", {"optimizer_offload": 0.5}),
    "manual_gc": (True, {"manual_gc": True}),
}


def job(software: object = "megatron-core-2024", **parallel: Any) -> Job:
    return Job.model_validate(
        {
            "model": "any",
            "training": {"sequence": 4096, "global_batch": 128},
            "parallel": {"tensor": 4, "pipeline": 4, "virtual_pipeline": 2, **parallel},
            "software": software,
        }
    )


@pytest.fixture
def step_of(
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
    alpha_beta: Callable[..., Engine],
) -> Callable[..., Step]:
    """One step of a 22B model on 64 H100 whose job has the switches given."""

    def found(name: str = "megatron-core-2024", **switches: Any) -> Step:
        return predict(
            job({"name": name, **switches}),
            model=model_of("gpt-22b"),
            network=network_of("H100", 64),
            engine=alpha_beta(),
        )

    return found


def test_every_entry_is_a_practice_of_its_own_title() -> None:
    entries = [practice_named(name) for name in PRACTICES.shipped()]
    assert len({one.title for one in entries}) == len(entries)
    assert all(len(one.released) == len("2024-07") for one in entries)


def test_every_switch_of_the_scenario_is_tested_here() -> None:
    assert set(SWITCHES) == set(Software.model_fields) - {"name"}


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_sets_its_own_fields_and_no_others(
    switch: str, gpu_of: Callable[[str], Gpu]
) -> None:
    value, changes = SWITCHES[switch]
    plain = practice_for(job(), gpu_of("H100"))
    turned = practice_for(job({"name": plain.name, switch: value}), gpu_of("H100"))
    assert plain == practice_named("megatron-core-2024")
    assert turned == replace(plain, **changes) != plain
    assert switches_of(turned)[switch] in (value, changes.get(switch))


def test_software_that_overlaps_nothing_can_be_told_to(gpu_of: Callable[[str], Gpu]) -> None:
    told = {"name": "megatron-2022", "tensor_overlap": True, "pipeline_overlap": True}
    found, core = practice_for(job(told), gpu_of("A100")), practice_named("megatron-core-2024")
    assert found.tensor_hidden == core.tensor_hidden > 0
    assert found.pipeline_hidden == core.pipeline_hidden > 0
    assert found.title == "Megatron-LM 2022"


def test_unfused_attention_keeps_no_kernel_generation(gpu_of: Callable[[str], Gpu]) -> None:
    found = practice_for(job({"name": "nemo", "attention": "unfused"}), gpu_of("H100"))
    assert found.attention == "unfused"
    assert switches_of(found)["attention"] == "unfused"
    back = practice_for(job({"name": "megatron-2022", "attention": "flash-1"}), gpu_of("A100"))
    assert (back.attention, back.flash) == ("fused", 1)


@pytest.mark.parametrize(
    ("switch", "axis"),
    [
        ("tensor_overlap", Axis.TENSOR),
        ("pipeline_overlap", Axis.PIPELINE),
        ("data_overlap", Axis.DATA),
    ],
)
def test_overlap_that_is_off_exposes_all_of_its_traffic(
    step_of: Callable[..., Step], switch: str, axis: Axis
) -> None:
    on, off = step_of(), step_of(**{switch: False})
    assert on.exposed_s[axis] < off.exposed_s[axis]
    # Products of weight gradients hide a gather between tensor ranks whatever the switch says.
    least = 0.8 if axis is Axis.TENSOR else 1.0
    assert least - 1e-9 <= off.exposed_s[axis] / off.communication_s[axis] <= 1.0 + 1e-9
    others = [other for other in Axis if other is not axis]
    assert [on.exposed_s[other] for other in others] == [off.exposed_s[other] for other in others]


def test_a_larger_last_bucket_is_exposed_longer(step_of: Callable[..., Step]) -> None:
    small, large = step_of(bucket_bytes="100MB"), step_of(bucket_bytes="4GB")
    assert small.exposed_s[Axis.DATA] < large.exposed_s[Axis.DATA]


def test_buckets_hold_the_bytes_asked_for(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    work, network = job(), network_of("H100", 64)
    plan = layout(work.parallel, node=network.node, num_gpus=64, placement=work.placement)
    shape = transformer(model_of("gpt-22b"))
    weights = WeightFormat(gradient_bytes=2, bucket_bytes=500e6)
    reduced, _ = data_communications(shape, plan, work.trained, weights=weights)
    assert 450e6 < reduced.collective.size_bytes <= 500e6


@pytest.mark.parametrize(
    ("switch", "value", "purpose", "share"),
    [
        ("gradient_type", "bf16", "dense gradients summed, backward", 1 / 2),
        ("parameter_type", "fp32", "dense weights gathered, forward", 2.0),
        ("parameter_type", "fp8", "dense weights gathered, forward", 1 / 2),
    ],
)
def test_types_decide_what_is_sent(
    switch: str,
    value: str,
    purpose: str,
    share: float,
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
) -> None:
    network, shape = network_of("H100", 64), transformer(model_of("gpt-22b"))

    def sent(software: object) -> dict[str, float]:
        work = job(software)
        plan = layout(work.parallel, node=network.node, num_gpus=64, placement=work.placement)
        weights = practice_for(work, network.gpu).weights
        items = data_communications(shape, plan, work.trained, weights=weights)
        return {item.purpose: item.each * item.collective.size_bytes for item in items}

    plain, turned = sent("megatron-core-2024"), sent({"name": "megatron-core-2024", switch: value})
    assert turned.pop(purpose) == pytest.approx(share * plain.pop(purpose))
    assert turned == plain


def test_types_decide_what_is_held_and_updated(
    step_of: Callable[..., Step],
    model_of: Callable[..., Model],
    network_of: Callable[..., Network],
) -> None:
    plain, turned = step_of(), step_of(gradient_type="bf16", parameter_type="fp8")
    assert turned.memory.gradients_bytes == plain.memory.gradients_bytes / 2
    # Embedding and logits stay in 16 bits: of 22B they are under a tenth.
    assert 0.5 < turned.memory.weights_bytes / plain.memory.weights_bytes < 0.55
    assert turned.memory.optimizer_bytes == plain.memory.optimizer_bytes
    # Twelve bytes of states read and as many written; the gradient read twice, the weight written.
    assert turned.optimizer_s / plain.optimizer_s == pytest.approx((24 + 4 + 1) / (24 + 8 + 2))


def test_graphs_spare_the_wait_for_the_host(step_of: Callable[..., Step]) -> None:
    launched, graphs = step_of("megatron-2022"), step_of("megatron-2022", cuda_graphs=True)
    assert launched.compute_s > graphs.compute_s
    assert launched.exposed_s == graphs.exposed_s


def test_attention_of_2024_is_slower_on_hopper(step_of: Callable[..., Step]) -> None:
    times = [step_of(attention=f"flash-{version}").compute_s for version in (1, 2, 3)]
    assert times[0] > times[1] > times[2] == step_of().compute_s


def test_what_is_registered_must_be_a_practice() -> None:
    class Pretender:
        name = "pretender"
        title = "No practice"

    PRACTICES.add(Pretender())
    try:
        with pytest.raises(SpecError, match="registered as Pretender"):
            practice_named("pretender")
    finally:
        del PRACTICES._entries["pretender"]


def test_a_practice_names_all_it_does() -> None:
    told = switches_of(practice_named("megatron-core-2024"))
    assert set(told) == set(SWITCHES)
    assert {one.name for one in fields(Practice)} >= {"gradient_bytes", "parameter_bytes"}


def test_optimizer_bytes_follow_the_types(
    model_of: Callable[..., Model], network_of: Callable[..., Network]
) -> None:
    network, shape = network_of("H100", 64), transformer(model_of("gpt-22b"))
    work = job(zero=0)
    plan = layout(work.parallel, node=network.node, num_gpus=64, placement=work.placement)
    fp32, bf16 = (optimizer_bytes(shape, plan, WeightFormat(gradient_bytes=n)) for n in (4, 2))
    assert fp32 == optimizer_bytes(shape, plan)
    assert bf16 / fp32 == pytest.approx(30 / 34)
