"""Where predictions of fine-tuning and of diffusion models may be relied upon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.provenance import Validity

if TYPE_CHECKING:
    from netloom.parts.diffusion import Diffusion
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Training
    from netloom.spec.tuning import TrainingSample

__all__ = ["diffusion_validity", "tuning_validity"]


def tuning_validity(training: Training) -> Validity:
    """Return the doubts that fine-tuning raises; ``sft`` trains as pretraining does."""
    doubts = []
    tuning = training.tuning
    if tuning.is_low_rank:
        doubts.append(
            "Low-rank fine-tuning was compared with published steps of Llama 3 8B and 70B, ranks 8 "
            "and 16 on linear_qkv, alone (netloom validate steps, group fine-tuning)."
        )
    if tuning.is_low_rank and tuning.frozen_type == "nf4":
        doubts.append("The time to unpack 4-bit weights before each product is not modelled.")
    if training.packed_sequence is not None:
        doubts.append(
            "No step whose packed samples have known lengths was compared; samples of equal "
            "length are assumed."
        )
    return Validity(tuple(doubts))


def diffusion_validity(model: Model, training: Training) -> Validity:
    """Return the doubts that a diffusion model raises.

    Raises:
        SpecError: the sample does not make the model's tokens.
    """
    blocks, sample = model.diffusion, training.sample
    if blocks is None:
        return Validity()
    if sample is not None and not _agree(sample, blocks):
        raise SpecError(
            key="job.training.sample",
            what=f"a token of {model.name} has {blocks.stride} pixels a side and "
            f"{blocks.frame_stride} frames",
            remedy=f"set stride: {blocks.stride} and frame_stride: {blocks.frame_stride}",
        )
    doubts = ["No step of a diffusion model was measured; their blocks were, on one H200."]
    if training.tuning.is_low_rank:
        doubts.append("No low-rank fine-tuning of a diffusion model was compared.")
    if sample is None or not sample.encode:
        doubts.append("Text and image encoders are taken to have run before.")
    elif blocks.encoder_flops_per_pixel is None:
        doubts.append(f"The image encoder of {model.name} is not counted.")
    return Validity(tuple(doubts))


def _agree(sample: TrainingSample, blocks: Diffusion) -> bool:
    alike = sample.frames == 1 or sample.frame_stride == blocks.frame_stride
    return alike and sample.stride == blocks.stride
