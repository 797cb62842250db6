"""``netloom infer``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.serving.generation import generation_page, generation_text
from netloom.report.serving.page import inference_page
from netloom.report.serving.text import inference_text
from netloom.study.inputs import catalog_of
from netloom.study.serving.generation import GenerationStudy
from netloom.study.serving.inference import infer as infer_service

__all__ = ["infer"]


def infer(
    scenario: Path | None = None,
    *,
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Predict how fast a cluster serves a model: first token, later tokens, throughput.

    Of a diffusion model: how long a picture or film takes, and how many a second.

    Args:
        scenario: A scenario file with a 'serving' section ('generation' for a diffusion model);
            default: Llama 3.1 70B on 64 H100.
    """
    with scenario_at(scenario, built_in="llama-3.1-70b-serving") as asked:
        found = infer_service(asked, catalog_of(asked, own))
    if isinstance(found, GenerationStudy):
        made = found
        return show(made, output, lambda: generation_text(made), page=lambda: generation_page(made))
    answered = found
    return show(
        answered, output, lambda: inference_text(answered), page=lambda: inference_page(answered)
    )
