"""What the named software, and each switch, does to a step."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.errors import SpecError
from netloom.spec.scenario import Job
from netloom.spec.software import PRACTICES, Software
from netloom.step.memory.stage import kept_share
from netloom.step.practice import Practice
from netloom.step.predict import optimizer_bytes, predict
from netloom.step.software import (
    default_practice,
    departures,
    practice_for,
    practice_named,
    software_validity,
    switches_of,
)
from netloom.validated.steps import met_at
from netloom.workload.collective import Axis
from netloom.workload.placement import Layout, layout
from netloom.workload.sharding import WeightFormat, data_communications
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Gpu, Model
    from netloom.spec.precision import Precision
    from netloom.step.model import Step

# What each switch, turned against Megatron-Core 2024, sets; what a step makes of it is below.
SWITCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tensor_overlap": (False, {"tensor_hidden": 0.0}),
    "pipeline_overlap": (False, {"pipeline_hidden": 0.0}),
    "accumulation": (2, {"accumulation": 2}),
    "data_overlap": (False, {"overlaps_data": False}),
    "bucket_bytes": ("80MB", {"bucket_bytes": 80e6}),
    "attention": ("flash-2", {"flash": 2}),
    "cuda_graphs": (True, {"cuda_graphs": True}),
    "graph_scope": (("attn",), {"graph_scope": ("attn",)}),
    "gradient_type": ("bf16", {"gradient_bytes": 2}),
    "parameter_type": ("fp8", {"parameter_bytes": 1}),
    "recompute_modules": (("moe_act",), {"recompute_modules": ("moe_act",)}),
    "optimizer_offload": ("50%", {"optimizer_offload": 0.5}),
    "activation_offload": (3, {"activation_offload": 3}),
    "manual_gc": (True, {"manual_gc": True}),
    "expert_launch_s": ("6ms", {"host_experts_s": 6e-3}),
}


LAID_OUT = Layout(
    tensor=4,
    context=1,
    data=4,
    pipeline=4,
    virtual_pipeline=2,
    expert=1,
    zero=1,
    sequence_parallel=True,
    gpus_per_node=8,
    displaced=0.0,
)


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
    told = switches_of(turned)[switch]
    assert (tuple(told) if isinstance(told, list) else told) in (value, *changes.values())


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


def test_accumulated_batches_drain_the_pipeline_one_after_another(
    step_of: Callable[..., Step],
) -> None:
    # 32 micro-batches of a rank, at once or in four batches of eight: four bubbles.
    once, often = step_of(), step_of(accumulation=4)
    assert often.bubble_s == pytest.approx(4 * once.bubble_s)
    assert often.compute_s == once.compute_s
    # 8 micro-batches in flight at most; 4 (1 + 3/8) are, as before.
    assert often.memory.activations_bytes == once.memory.activations_bytes
    assert often.pipeline.timeline().makespan_s == pytest.approx(
        often.compute_s + often.bubble_s + sum(often.exposed_s.values()) - often.pipeline.after_s,
        rel=0.02,
    )


def test_batches_that_do_not_divide_are_refused(step_of: Callable[..., Step]) -> None:
    with pytest.raises(SpecError, match=r"32 micro-batches do not divide into 5 batches"):
        step_of(accumulation=5)


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


def test_of_layers_that_the_host_keeps_two_are_under_way() -> None:
    """8 of 12 layers: 4 and the two under way stay on the GPU, half of the activations."""
    half = replace(practice_named("megatron-bridge"), activation_offload=8)
    assert kept_share(12, half) == 6 / 12
    assert kept_share(12, replace(half, activation_offload=0)) == 1.0
    assert kept_share(12, replace(half, activation_offload=1)) == 1.0


@pytest.mark.parametrize(
    ("gpu", "precision", "name"),
    [
        ("A100", "bf16", "megatron-2022"),
        ("H100", "bf16", "nemo"),
        ("H100", "fp8", "megatron-bridge"),
    ],
)
def test_a_job_that_names_none_gets_the_newest_that_was_met_on_its_gpus_in_its_precision(
    gpu: str, precision: Precision, name: str, gpu_of: Callable[[str], Gpu]
) -> None:
    found = default_practice(gpu_of(gpu), precision)
    met = map(practice_named, met_at(gpu_of(gpu).architecture.lower(), precision))
    assert found.name == name
    assert found.released == max(one.released for one in met if not one.shards_weights)


def test_gpus_that_no_step_was_met_on_get_what_was_compared_there_or_the_newest(
    gpu_of: Callable[[str], Gpu],
) -> None:
    volta = gpu_of("A100").model_copy(update={"architecture": "Volta", "name": "V100"})
    strange = gpu_of("A100").model_copy(update={"architecture": "Strange", "name": "S1"})
    assert default_practice(volta, "fp16").name == "megatron-2021"
    newest = max(practice_named(name).released for name in PRACTICES.shipped())
    assert default_practice(strange, "bf16").released == newest


@pytest.mark.parametrize(
    ("name", "gpu", "doubt"),
    [
        ("nemo", "H100", ""),
        ("megatron-2022", "A100", ""),
        ("nemo", "A100", "No step of NeMo 2025 on Ampere GPUs was compared"),
        (
            "megatron-core-2024",
            "A100",
            "Megatron-Core 2024 on Ampere GPUs were compared and not met",
        ),
        ("torchtitan", "H100", "Steps of torchtitan 2024 on Hopper GPUs were compared and not met"),
    ],
)
def test_software_is_inside_where_it_was_met_on_such_gpus(
    name: str, gpu: str, doubt: str, gpu_of: Callable[[str], Gpu]
) -> None:
    found = software_validity(practice_named(name), gpu_of(gpu), LAID_OUT)
    assert found.inside == (not doubt)
    assert all(doubt in sentence for sentence in found.doubts)


def test_software_of_mixtures_may_be_met_by_mixtures_alone(gpu_of: Callable[[str], Gpu]) -> None:
    # Megatron-Bridge's steps on B200 are all mixtures.
    b200 = gpu_of("H100").model_copy(update={"architecture": "Blackwell", "name": "B200"})
    bridge = practice_named("megatron-bridge")
    (doubt,) = software_validity(bridge, b200, LAID_OUT).doubts
    assert doubt.startswith("No step of Megatron-Bridge 2026 on Blackwell GPUs was compared")
    mixture = software_validity(bridge, b200, LAID_OUT, layers="mixture")
    assert not any("was compared;" in one or "not met" in one for one in mixture.doubts)


def test_a_switch_that_no_run_had_is_in_doubt_where_it_matters(
    gpu_of: Callable[[str], Gpu],
) -> None:
    gpu, off = gpu_of("H100"), job({"name": "nemo", "tensor_overlap": False})
    (doubt,) = software_validity(practice_for(off, gpu), gpu, LAID_OUT).doubts
    assert doubt == "No step of NeMo 2025 on Hopper GPUs with tensor_overlap: false was compared."
    alone = replace(LAID_OUT, tensor=1, data=8)
    assert software_validity(practice_for(off, gpu), gpu, alone).inside


def test_the_runs_of_a_name_count_as_they_were_switched(gpu_of: Callable[[str], Gpu]) -> None:
    # Megatron-LM of 2020 and 2021 overlapped its gradients in some runs and not in others; the runs
    # of Megatron-Core 2025 on B200 overlapped nothing.
    for overlap in (True, False):
        told = job({"name": "megatron-2021", "data_overlap": overlap})
        found = practice_for(told, gpu_of("A100"))
        assert software_validity(found, gpu_of("A100"), LAID_OUT).inside
    b200 = gpu_of("H100").model_copy(update={"architecture": "Blackwell", "name": "B200"})
    plain = practice_for(job("megatron-core-2025"), b200)
    assert "tensor_overlap: true" in software_validity(plain, b200, LAID_OUT).doubts[0]
    off = {"tensor_overlap": False, "pipeline_overlap": False, "data_overlap": False}
    found = practice_for(job({"name": "megatron-core-2025"} | off), b200)
    assert software_validity(found, b200, LAID_OUT).inside
    assert departures(found, b200) == dict.fromkeys(off, "False")
    assert departures(plain, b200) == {}


def test_a_step_says_which_software_it_is_of(step_of: Callable[..., Step]) -> None:
    step = step_of("nemo", tensor_overlap=False)
    assert step.practice.name == "nemo"
    (said,) = (part for part in step.why.parts if part.name == "software")
    assert said.value == "NeMo 2025"
    assert ("tensor_overlap", "off") in {(part.name, part.value) for part in said.parts}
    assert any("Megatron-LM 2022 on Hopper" in d for d in step_of("megatron-2022").validity.doubts)
