"""What one GPU of an instance that makes pictures or films holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import InfeasibleError
from netloom.step.memory import RESERVED_BYTES
from netloom.units import SIZE, format_quantity
from netloom.workload.operator import ACTIVATION_BYTES

if TYPE_CHECKING:
    from netloom.parts.parts import Gpu, Model
    from netloom.spec.inference import Generation

__all__ = ["GenerationMemory", "check_generation_memory"]

# Widths of the residual stream that live in the widest block besides its feed-forward block:
# 524 MB to 2.08 GB over 4,608 to 16,896 tokens of FLUX.1 (one H200, PyTorch 2.11) are 6.2 to 10.2
# streams in all, of which the block is four.
_STREAMS: Final = 6
# Bytes a pixel that the decoder holds at most: 2.42 GB at 1024 x 1024 (same H200).
_DECODED: Final = 2304.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationMemory:
    """What one GPU holds.

    Attributes:
        encoder_bytes: The text encoder, kept beside the model.
        activations_bytes: Of the widest block, or of the decoder where that is more.
    """

    weights_bytes: float
    encoder_bytes: float
    activations_bytes: float
    reserved_bytes: float
    capacity_bytes: float

    @property
    def total_bytes(self) -> float:
        """Everything together."""
        return sum((self.weights_bytes, self.encoder_bytes, self.activations_bytes)) + (
            self.reserved_bytes
        )


def check_generation_memory(
    asked: Generation, *, model: Model, gpu: Gpu, rows: int
) -> GenerationMemory:
    """Return what a GPU holds with *rows* tokens in its products.

    Raises:
        InfeasibleError: it does not fit.
    """
    blocks = model.diffusion
    assert blocks is not None
    widest = _STREAMS * model.hidden + model.ffn_hidden
    counted = blocks.decoder_flops_per_pixel is not None
    decoded = _DECODED * asked.height * asked.width * asked.batch if counted else 0.0
    held = GenerationMemory(
        weights_bytes=ACTIVATION_BYTES * model.parameters,
        encoder_bytes=ACTIVATION_BYTES * blocks.encoder_parameters,
        activations_bytes=max(float(ACTIVATION_BYTES * rows * widest), decoded),
        reserved_bytes=RESERVED_BYTES,
        capacity_bytes=gpu.memory_bytes,
    )
    if held.total_bytes <= held.capacity_bytes:
        return held
    raise InfeasibleError(
        key="generation.batch",
        what=(
            f"a GPU would hold {_show(held.total_bytes)} (weights {_show(held.weights_bytes)}, "
            f"text encoder {_show(held.encoder_bytes)}, activations "
            f"{_show(held.activations_bytes)}, reserved {_show(held.reserved_bytes)}), but "
            f"{gpu.name} has {_show(held.capacity_bytes)}"
        ),
        remedy=_remedy(asked, held),
    )


def _remedy(asked: Generation, held: GenerationMemory) -> str:
    fixed_bytes = held.total_bytes - held.activations_bytes
    if fixed_bytes >= held.capacity_bytes:
        return "the weights alone do not fit: use a GPU with more memory"
    if asked.batch > 1:
        return "lower the batch, or raise context"
    return "raise context, which divides the tokens, or ask for fewer pixels or frames"


def _show(size_bytes: float) -> str:
    return format_quantity(size_bytes, SIZE)
