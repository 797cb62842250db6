"""What modules that are computed again, and states on the host, cost in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from netloom.parts.load import load_catalog
from netloom.spec.scenario import Scenario
from netloom.spec.software import RecomputedModule
from netloom.spec.tuning import ALL_WEIGHTS
from netloom.step.predict import _updated_parameters
from netloom.study.explain.variants import recomputing, variants_of
from netloom.study.plan.planning import plan, question
from netloom.study.predict.prediction import predict
from netloom.workload.collective import Axis
from netloom.workload.flops import Shard, layer_operators
from netloom.workload.placement import layout
from netloom.workload.recomputation import is_again, recompute_kind
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.step.model import Step

CATALOG = load_catalog()
DENSE, LATENT = "llama-3.1-8b", "deepseek-v2"


def scenario(
    model: str = DENSE,
    *,
    software: dict[str, Any] | None = None,
    recompute: str = "selective",
    nodes: int = 1,
    node: str = "dgx-h100",
    **parallel: Any,
) -> Scenario:
    return Scenario.model_validate(
        {
            "cluster": {"nodes": nodes, "node": node},
            "job": {
                "model": model,
                "training": {"global_batch": 16 * nodes, "recompute": recompute},
                "parallel": parallel,
                "software": software or {},
            },
        }
    )


def step(*args: Any, **kwargs: Any) -> Step:
    return predict(scenario(*args, **kwargs), CATALOG).step


def modules(*names: str) -> dict[str, Any]:
    return {"recompute_modules": names}


@pytest.mark.parametrize("model", [DENSE, LATENT])
@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("none", ()),
        ("selective", ("core_attn",)),
        ("light", ("layernorm", "moe_act", "mla_up_proj")),
    ],
)
def test_modules_take_the_time_of_the_recomputation_they_stand_for(
    model: str, kind: str, named: tuple[str, ...]
) -> None:
    run = (
        {"tensor": 2, "expert": 8, "pipeline": 8, "nodes": 16} if model == LATENT else {"tensor": 2}
    )
    stated = step(model, recompute=kind, **run)
    found = step(model, software=modules(*named), recompute="full", **run)
    assert found.duration_s == pytest.approx(stated.duration_s, rel=1e-9)
    assert found.hardware_flops == pytest.approx(stated.hardware_flops, rel=1e-9)
    assert found.memory.total_bytes == stated.memory.total_bytes
    assert found.kinds == pytest.approx(stated.kinds)


def test_a_feed_forward_block_that_is_computed_again_costs_its_forward_pass() -> None:
    none, block = step(tensor=2, recompute="none"), step(tensor=2, software=modules("mlp"))
    full = step(tensor=2, recompute="full")
    assert none.compute_s < block.compute_s < full.compute_s
    assert block.memory.activations_bytes < none.memory.activations_bytes
    # Llama 3.1 8B: 3 matrices of 4096 x 14336 in 32 layers, 2 FLOPs each, 16 x 4096 tokens, 8 GPUs.
    again = 2 * 3 * 4096 * 14336 * 32 * 16 * 4096 / 8
    assert block.hardware_flops - none.hardware_flops == pytest.approx(again)
    # One of a layer's two blocks: half the collectives that computing whole layers repeats.
    more = [
        one.communication_s[Axis.TENSOR] - none.communication_s[Axis.TENSOR]
        for one in (block, full)
    ]
    assert more[0] == pytest.approx(more[1] / 2)


def test_experts_that_are_computed_again_are_sent_their_tokens_again() -> None:
    run = {"expert": 8, "pipeline": 8, "nodes": 16, "tensor": 2}
    none, moe = (
        step(LATENT, software=modules(), **run),
        step(LATENT, software=modules("moe"), **run),
    )
    assert moe.communication_s[Axis.EXPERT] == pytest.approx(
        1.5 * none.communication_s[Axis.EXPERT]
    )


def test_every_module_has_operators() -> None:
    shard = Shard(micro_batch=1, sequence=4096)
    found = [
        *layer_operators(transformer(CATALOG.model(LATENT)), shard, moe=True),
        *layer_operators(transformer(CATALOG.model(DENSE)), shard, moe=False),
    ]
    for module in get_args(RecomputedModule):
        assert any(is_again(one, (module,)) for one in found), module
    everything = [one.name for one in found if is_again(one, get_args(RecomputedModule))]
    assert {"qkv", "projection", "residual"}.isdisjoint(everything)


@pytest.mark.parametrize(
    ("model", "node", "software"),
    [
        (DENSE, "dgx-h100", modules("mlp")),
        ("llama-3.1-70b", "dgx-a100", {"activation_offload": 100}),
        (DENSE, "dgx-h100", {"optimizer_offload": "50%"}),
        ("qwen3-30b-a3b", "dgx-h100", modules("moe", "core_attn")),
    ],
)
def test_the_best_plan_is_what_predict_says_of_it(
    model: str, node: str, software: dict[str, Any]
) -> None:
    asked = scenario(model, software=software, nodes=4, node=node)
    for best in plan(question(asked, CATALOG)).best:
        again = asked.model_copy(update={"job": best.configuration.job(asked.job)})
        found = predict(again, CATALOG).step
        assert found.duration_s == pytest.approx(best.step.duration_s, rel=1e-9)
        assert found.memory.total_bytes == best.step.memory.total_bytes


def test_modules_leave_one_recomputation_to_search() -> None:
    plain, named = (question(scenario(software=one), CATALOG) for one in ({}, modules("mlp")))
    assert plain.size == 3 * named.size


def test_a_weight_update_on_the_host_waits_for_the_link() -> None:
    run: dict[str, Any] = {"tensor": 2, "zero": 1}
    here, there = step(**run), step(software={"optimizer_offload": "100%"}, **run)
    asked = scenario(**run)
    node = CATALOG.node("dgx-h100")
    shape = transformer(CATALOG.model(DENSE))
    laid_out = layout(asked.job.parallel, node=node, num_gpus=8, placement=asked.job.placement)
    count = _updated_parameters(shape, laid_out, ALL_WEIGHTS)
    # bf16 gradients down and bf16 weights up.
    assert there.optimizer_s == pytest.approx(8 * count * (2 + 2) / node.host_rate_bps)
    assert there.duration_s > here.duration_s
    assert there.memory.optimizer_bytes == 0.0
    assert any("on the host" in doubt for doubt in there.validity.doubts)


def test_explain_changes_what_modules_say_too() -> None:
    named = scenario(software=modules("core_attn"), tensor=2)
    plain = predict(recomputing(named, "none"), CATALOG).step
    assert plain.duration_s == step(recompute="none", tensor=2).duration_s
    slow_s = step(recompute="full", tensor=2).duration_s
    assert variants_of(named, CATALOG, measured_s=slow_s)[0].change == "recompute: full"


def test_what_the_host_holds_is_explained() -> None:
    told = {"optimizer_offload": "50%", "activation_offload": 100, "name": "megatron-bridge"}
    found = step("llama-3.1-70b", software=told, node="dgx-a100", nodes=4, zero=3)
    lines = str(found.why)
    assert found.host_s > 0
    assert "waits for the host" in lines
    assert "50% of the bytes of the update over the memory rate" in lines


def test_a_slow_gpu_that_fits_any_measurement_comes_last() -> None:
    asked = scenario(tensor=2)
    slow_s = step(recompute="full", tensor=2).duration_s
    found = variants_of(asked, CATALOG, measured_s=slow_s)
    assert found[0].change == "recompute: full"
    assert found[-1].change.startswith("one GPU computes")
    far = variants_of(asked, CATALOG, measured_s=10 * slow_s)[-1].change
    assert far.endswith("times as long as the others")


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ((), "none"),
        (("core_attn",), "selective"),
        (("layernorm", "moe_act"), "light"),
        (("mlp",), "full"),
        (("core_attn", "layernorm"), "full"),
    ],
)
def test_doubts_know_modules_by_the_kind_that_computes_as_much(
    named: tuple[Any, ...], kind: str
) -> None:
    assert recompute_kind("full", named) == kind
    assert recompute_kind("light", None) == "light"
    doubts = step(tensor=2, recompute="full", software=modules()).validity.doubts
    assert not any("recompute full" in doubt for doubt in doubts)
