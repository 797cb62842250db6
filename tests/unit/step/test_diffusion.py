"""Diffusion transformers through the step model: tokens, parameters, work, memory, doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from netloom.cli.main import main
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Job, Parallel, Placement, Training
from netloom.step.memory import memory
from netloom.step.predict import predict
from netloom.step.software import practice_named
from netloom.workload.collective import Axis
from netloom.workload.demand import demand
from netloom.workload.flops import Shard, embedding_operators, layer_operators, step_flops
from netloom.workload.parameters import parameters
from netloom.workload.placement import layout
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.step.model import Step

CATALOG = load_catalog()
NAMES = sorted(name for name, one in CATALOG.models.items() if one.diffusion)
PICTURE = {"height": 1024, "width": 1024}


def shape_of(name: str) -> Any:
    return transformer(CATALOG.model(name))


def training(**changes: Any) -> Training:
    given_keys = {"sample": PICTURE, "global_batch": 64, "recompute": "none", **changes}
    return Training.model_validate(given_keys)


@pytest.fixture(scope="session")
def step_of(
    network_of: Callable[..., Network], alpha_beta: Callable[..., Engine]
) -> Callable[..., Step]:
    """Return a step of a model on 16 H100."""

    def found(name: str, parallel: dict[str, Any] | None = None, **changes: Any) -> Step:
        given_keys = {"sample": PICTURE, "global_batch": 64, "recompute": "full", **changes}
        job = {"model": name, "training": given_keys, "parallel": parallel or {"zero": 3}}
        return predict(
            Job.model_validate(job),
            model=CATALOG.model(name),
            network=network_of("H100", 16),
            engine=alpha_beta(),
        )

    return found


@pytest.mark.parametrize(
    ("sample", "tokens"),
    [
        ({"height": 256, "width": 256}, 16 * 16),
        ({"height": 1024, "width": 1024}, 64 * 64),
        ({"height": 720, "width": 1280, "frames": 81}, 45 * 80 * 21),
        ({"height": 250, "width": 250, "frames": 2}, 16 * 16 * 2),
    ],
)
def test_a_sample_makes_as_many_tokens_as_its_patches(sample: dict[str, int], tokens: int) -> None:
    assert training(sample=sample).sequence == tokens


def test_a_sequence_that_contradicts_the_sample_is_refused() -> None:
    with pytest.raises(ValidationError, match="4096 tokens"):
        training(sequence=1024)
    assert training(sequence=4096).sequence == 4096


@pytest.mark.parametrize("name", NAMES)
def test_the_blocks_hold_what_the_authors_publish_but_for_their_conditioning(name: str) -> None:
    # Projections of text and time, 1 to 3 % of the model, are not counted.
    model = CATALOG.model(name)
    assert 0.965 * model.parameters < parameters(model) < 1.005 * model.parameters


def test_flux_has_19_double_and_38_single_blocks() -> None:
    # h 3072: 36 h^2 a double block (two streams of 12 h^2, vectors 6 h^2), 15 h^2 a single one.
    blocks = (19 * 36 + 38 * 15) * 3072**2
    ends = 2 * 64 * 3072 + 3072
    assert parameters(CATALOG.model("flux.1-dev")) == blocks + ends


def test_attention_has_no_mask_and_sees_the_text_beside_the_image() -> None:
    shard = Shard(micro_batch=2, sequence=4096)
    (found,) = (
        one
        for one in layer_operators(shape_of("sd3-medium"), shard, moe=False)
        if one.kind == "attention"
    )
    rows = 2 * (4096 + 333)
    assert found.flops == 4 * rows * (4096 + 333) * 1536


def test_heads_of_72_run_as_heads_of_128_and_are_not_needed_so_wide() -> None:
    shape, of = shape_of("dit-xl-2"), training(global_batch=1)
    shard = Shard(micro_batch=1, sequence=4096)
    (found,) = (x for x in layer_operators(shape, shard, moe=False) if x.kind == "attention")
    assert found.flops == 4 * 4096 * 4096 * 16 * 128
    needed, _ = step_flops(shape, of)
    per_layer = 4 * 4096**2 * 1152 + 2 * 4096 * 12 * 1152**2 + 2 * 6 * 1152**2
    assert needed == pytest.approx(3 * (28 * per_layer + 2 * 4096 * 1152 * 16))


def test_encoders_run_forward_only_and_not_where_their_outputs_are_stored() -> None:
    shape = shape_of("pixart-alpha")
    encoders = embedding_operators(shape, Shard(micro_batch=4, sequence=4096, encodes=True))[1:]
    text, image = encoders
    assert text.flops == 2 * 4.76e9 * 4 * 120
    assert image.flops == pytest.approx(4.06e6 * 4 * 1024 * 1024)
    assert not any(one.backward_flops for one in encoders)
    assert len(embedding_operators(shape, Shard(micro_batch=4, sequence=4096))) == 1


def test_a_text_encoder_is_held_whole_where_it_runs() -> None:
    shape, gpu = shape_of("flux.1-dev"), CATALOG.gpu("H100-SXM-80GB")
    plan = layout(
        Parallel(zero=3), node=CATALOG.node("dgx-h100"), num_gpus=16, placement=Placement()
    )
    stored = training(sample={**PICTURE, "encode": False})
    with_it, without = (
        memory(shape, plan, of, gpu=gpu, practice=practice_named("megatron-core-2024"))
        for of in (training(), stored)
    )
    assert with_it.weights_bytes - without.weights_bytes == pytest.approx(2 * 4.88e9)


def test_tensor_ranks_meet_in_every_half_of_a_layer_with_the_text() -> None:
    plan = layout(
        Parallel(tensor=4), node=CATALOG.node("dgx-h100"), num_gpus=16, placement=Placement()
    )
    asked = demand(shape_of("flux.1-dev"), plan, training(), num_micro_batches=1)
    gathers = [item for item in asked.on(Axis.TENSOR) if item.phase == "forward"]
    assert {item.each for item in gathers} == {2 + 2}  # a double block's halves and two singles
    assert {item.collective.size_bytes for item in gathers} == {2 * (4096 + 512) * 3072}


@pytest.mark.parametrize("name", NAMES)
def test_every_diffusion_model_runs_and_says_that_no_step_was_measured(
    step_of: Callable[..., Step], name: str
) -> None:
    step = step_of(name)
    assert step.duration_s > 0
    assert 0.05 < step.mfu < 0.7
    assert any("diffusion" in doubt for doubt in step.validity.doubts)


@settings(max_examples=10, deadline=None)
@given(name=st.sampled_from(NAMES), side=st.sampled_from((256, 512, 768)))
def test_a_larger_picture_takes_longer_and_holds_more(
    step_of: Callable[..., Step], name: str, side: int
) -> None:
    small, large = (
        step_of(name, sample={"height": each, "width": each}) for each in (side, 2 * side)
    )
    assert small.duration_s < large.duration_s
    assert small.memory.total_bytes < large.memory.total_bytes


def test_tokens_of_another_model_are_refused(step_of: Callable[..., Step]) -> None:
    with pytest.raises(SpecError, match="stride: 16"):
        step_of("sd3-medium", sample={**PICTURE, "stride": 8})


def test_low_rank_tuning_of_a_diffusion_model_is_faster_and_outside_the_range(
    step_of: Callable[..., Step],
) -> None:
    tuned, whole = step_of("flux.1-dev", tuning="lora"), step_of("flux.1-dev", tuning="sft")
    assert tuned.duration_s < whole.duration_s
    assert any("low-rank fine-tuning of a diffusion model" in one for one in tuned.validity.doubts)


def test_the_command_predicts_a_film_and_wants_to_know_what_to_serve_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "film.yaml"
    file.write_text(
        "cluster: {gpus: 64, node: dgx-h100}\n"
        "job:\n"
        "  model: wan-2.1-14b\n"
        "  training: {sample: {height: 480, width: 832, frames: 81}, global_batch: 16,"
        " recompute: full}\n"
        "  parallel: {context: 4, zero: 3}\n"
        "serving: {prompt: 100, output: 10, batch: 1}\n",
        encoding="utf-8",
    )
    assert main(["predict", str(file)]) == 0
    assert "No step of a diffusion model was measured" in " ".join(capsys.readouterr().out.split())
    assert main(["infer", str(file)]) == 2
    assert "diffusion" in capsys.readouterr().err
