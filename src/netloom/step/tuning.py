"""Where predictions of fine-tuning may be relied upon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Validity

if TYPE_CHECKING:
    from netloom.spec.scenario import Training

__all__ = ["tuning_validity"]


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
