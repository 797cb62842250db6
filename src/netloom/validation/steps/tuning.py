"""How a measured step fine-tunes: from its notes to ``job.training`` and ``job.software``.

What the rows leave open is taken from the recipes that NVIDIA publishes beside them: NeMo
(scripts/performance/llm/finetune_llama3_70b.py and the recipes' finetune_performance_optimizations)
and Megatron-Bridge (scripts/performance/configs/llama/llama3_llm_finetune.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from netloom.validation.steps.measured import MeasuredStep

__all__ = ["fine_tuning_of", "fine_tuning_software", "tuned_training"]

# The recipes adapt linear_qkv alone: rank 16 for 70B, and 8 for 8B (recalled).
_RANK: Final = 16
_SMALL_RANK: Final = 8
_SMALL_PARAMS_B: Final = 10
# SQuAD packed to the sequence length; a sample is about 120 words of context and 15 of question
# and answer: 180 tokens. Recalled.
_SQUAD_TOKENS: Final = 180


def fine_tuning_of(row: MeasuredStep) -> str | None:
    """Return ``lora`` or ``sft`` where *row* fine-tuned, else None."""
    notes = row.text("notes")
    return next((method for method in ("lora", "sft") if method in notes), None)


def tuned_training(row: MeasuredStep) -> dict[str, Any]:
    """Return the keys of ``job.training`` that fine-tuning sets."""
    method = fine_tuning_of(row)
    if method is None:
        return {}
    packed = {"packed_sequence": min(_SQUAD_TOKENS, row.sequence)}
    if method == "sft":
        return {"tuning": {"method": method}, **packed}
    small = row.params_b is not None and row.params_b < _SMALL_PARAMS_B
    tuning = {
        "method": method,
        "rank": _SMALL_RANK if small else _RANK,
        "modules": ("linear_qkv",),
    }
    return {"tuning": tuning, **packed}


def fine_tuning_software(row: MeasuredStep) -> dict[str, Any]:
    """Return the switches of ``job.software`` that recipes of fine-tuning set.

    Gradients are reduced in bf16 (grad_reduce_in_fp32); NeMo's LoRA overlaps tensor-parallel
    collectives only in 8 bits on two ranks.
    """
    method = fine_tuning_of(row)
    if method is None:
        return {}
    types = {"gradient_type": "bf16"}
    if method == "sft" or "nemo/" not in row.text("framework"):
        return types
    overlaps = "fp8" in row.text("precision") and row.degrees.get("tp", 1) == 2
    return {**types, "tensor_overlap": overlaps}
