"""Pictures and films on request: what divides, what adds up, what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.cli.main import main
from netloom.errors import InfeasibleError, SpecError
from netloom.parts.load import load_catalog
from netloom.spec.inference import Generation
from netloom.study.serving.generation import GenerationStudy

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = load_catalog()


def study(model: str = "flux.1-dev", node: str = "dgx-h100", **asked: Any) -> GenerationStudy:
    """Return what a node makes."""
    sizes = {"height": 1024, "width": 1024, "steps": 28} | asked
    scenario = {
        "cluster": {"nodes": 1, "node": node},
        "job": {"model": model},
        "generation": sizes,
    }
    found = nl.infer(nl.Scenario.model_validate(scenario))
    assert isinstance(found, GenerationStudy)
    return found


def test_tokens_are_the_patches_of_the_latent_and_the_first_frame_has_its_own() -> None:
    """1280 x 720 in patches of 16 are 80 x 45; 129 frames are 1 + 128 / 4 layers of them."""
    film = Generation(height=720, width=1280, frames=129, steps=50)
    assert film.tokens(16, 4) == 80 * 45 * 33
    assert Generation(height=1024, width=1024, steps=1).tokens(16, 1) == 64 * 64


def test_latency_is_encoder_steps_and_decoder() -> None:
    """A second step costs what the first did; nothing else depends on their number."""
    own = study().own
    assert own.latency_s == own.encoder_s + 28 * own.step.total_s + own.decoder_s
    twice = study(steps=56).own
    assert twice.latency_s - own.latency_s == pytest.approx(28 * own.step.total_s)


def test_decoder_takes_its_arithmetic_over_its_measured_share_of_the_peak() -> None:
    """9.43 MFLOP a pixel at 19.5 % of 989 TFLOP/s."""
    own = study().own
    assert own.decoder_s == pytest.approx(9.43e6 * 1024 * 1024 / (0.195 * 989e12), rel=1e-3)


def test_guidance_doubles_the_rows_and_may_run_on_gpus_of_its_own() -> None:
    """Stable Diffusion 3 is guided; FLUX.1 dev had its guidance distilled."""
    together, apart = study("sd3-medium").own, study("sd3-medium", guidance_parallel=True).own
    assert together.step.rows == 2 * apart.step.rows
    assert apart.step.guidance_s > 0
    assert apart.gpus_per_instance == 2
    assert apart.latency_s < together.latency_s
    assert study().own.step.rows == 4096 + 512


def test_older_attention_kernel_is_slower_on_hopper() -> None:
    """FlashAttention-2 reaches 35 % of the peak there: 4 x rows x keys x width over it."""
    old = study(attention="flash-attention-2").own
    flops = 28 * 4 * 57 * 4608 * 4608 * 3072
    assert 28 * old.step.attention_s == pytest.approx(flops / (0.35 * 989e12))
    assert old.latency_s > study().own.latency_s


@settings(deadline=None, max_examples=20)
@given(steps=st.integers(1, 60), batch=st.integers(1, 8), side=st.integers(16, 96))
def test_more_gpus_to_a_request_never_compute_longer_nor_make_more_per_gpu(
    steps: int, batch: int, side: int
) -> None:
    """Dividing a request costs exchanges, and the decoder stays on one GPU."""
    found = study(steps=steps, batch=batch, height=16 * side, width=16 * side)
    computed = [one.step.compute_s for one in found.ways]
    made = [one.requests_per_s_per_gpu for one in found.ways]
    assert [one.gpus_per_instance for one in found.ways] == [1, 2, 4, 8]
    assert computed == sorted(computed, reverse=True)
    assert made == sorted(made, reverse=True)


def test_a_slower_gpu_is_slower_and_says_that_its_kernels_were_not_timed() -> None:
    """An A100 has 312 of 989 TFLOP/s."""
    old = study(node="dgx-a100")
    assert old.own.latency_s > 2 * study().own.latency_s
    assert any("A100" in doubt for doubt in old.own.validity.doubts)


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"context": 5}, "generation.context", "does not divide the 24 heads"),
        ({"context": 3}, "generation.context", "neither divide nor fill nodes of 8"),
        ({"guidance_parallel": True}, "generation.guidance_parallel", "one pass"),
    ],
)
def test_what_cannot_be_divided_is_refused(changes: dict[str, Any], key: str, says: str) -> None:
    """The message names the key."""
    with pytest.raises(SpecError, match=says) as told:
        study(**changes)
    assert str(told.value).startswith(f"{key}:")


def test_a_batch_that_does_not_fit_names_what_to_change() -> None:
    """1,000 pictures of 1024 x 1024 need terabytes."""
    with pytest.raises(InfeasibleError, match="lower the batch"):
        study(batch=1000)


def test_a_diffusion_model_without_the_section_says_what_to_add() -> None:
    """And a language model still wants 'serving'."""
    bare = {"cluster": {"nodes": 1, "node": "dgx-h100"}, "job": {"model": "flux.1-dev"}}
    with pytest.raises(SpecError, match=r"generation: \{height"):
        nl.infer(nl.Scenario.model_validate(bare))


def test_infer_prints_and_writes_what_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the command, as text, JSON and page."""
    file, page = tmp_path / "images.yaml", tmp_path / "page.html"
    main(["example", "flux.1-dev-images"])
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["infer", str(file), "--report", str(page)]) == 0
    text = capsys.readouterr().out
    assert "flux.1-dev on 8 GPUs" in text
    assert "4 instances of 2 GPUs" in text
    assert "images/s" in page.read_text(encoding="utf-8")
    assert main(["infer", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["gpus_per_request"] == 2
    assert [one["gpus_per_request"] for one in found["by_gpus"]] == [1, 2, 4, 8]
    assert main(["infer", str(file), "--why", "latency_s"]) == 0
    assert "denoising step" in capsys.readouterr().out


def test_adapters_of_a_diffusion_model_train_two_thin_matrices_beside_each() -> None:
    """A stream of FLUX.1: r (3h + h) + 2 r h + 2 r (h + 4h); a single: 2 r (h + 7h), r (h + 5h)."""
    sample = {"sample": {"height": 1024, "width": 1024}, "global_batch": 64, "micro_batch": 1}
    scenario = {
        "cluster": {"nodes": 1, "node": "dgx-h100"},
        "job": {
            "model": "flux.1-dev",
            "training": sample | {"tuning": {"method": "lora", "rank": 16}},
        },
    }
    step = nl.predict(nl.Scenario.model_validate(scenario)).step
    hidden, rank = 3072, 16
    stream = rank * hidden * ((3 + 1) + 2 + 2 * (1 + 4))
    single = rank * hidden * ((7 + 1) + (1 + 5))
    parameters = 19 * (2 * stream + 2 * single)
    assert step.memory.gradients_bytes == 2 * parameters


def test_a_model_of_images_makes_no_film() -> None:
    """100 frames of FLUX.1 were one attention over 100 images: 2,799 s."""
    with pytest.raises(SpecError, match="makes single images"):
        study(frames=100)
