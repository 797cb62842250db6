"""What makes a transformer a diffusion model's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netloom.spec.strict import Strict

__all__ = ["Diffusion", "DiffusionBlocks"]

DiffusionBlocks = Literal["dit", "mmdit", "cross"]
_Count = Annotated[int, Field(ge=1, le=1_000_000)]
_Number = Annotated[int, Field(ge=0, le=1_000_000)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Diffusion(Strict):
    """Blocks, and what is around them.

    Attributes:
        kind: ``dit``: one stream; ``mmdit``: image and text with matrices of their own and one
            attention over both; ``cross``: one stream that also attends to the text.
        num_singles: Blocks over both streams joined that follow each such block: a layer is
            a block and its singles.
        text_tokens: Of one sample's text.
        shared_modulation: Whether one product makes the vectors that scale, shift and gate for
            all blocks, not one a block.
        stride: Pixels of a token's side: the autoencoder's and the patch's.
        frame_stride: Frames of a token.
        encoder_parameters: Of the text encoder.
        encoder_flops_per_pixel: Of the image encoder; None where it was not counted.
        decoder_flops_per_pixel: And of the decoder back to pixels.
        normed_heads: Whether queries and keys are normed and rotated, which serving counts.
        guided: Whether a step is run with and without the text; not where guidance was distilled.
    """

    kind: DiffusionBlocks
    num_singles: _Number = 0
    text_tokens: _Number = 0
    shared_modulation: bool = False
    stride: _Count = 16
    frame_stride: _Count = 1
    encoder_parameters: _Amount = 0.0
    encoder_flops_per_pixel: _Amount | None = None
    decoder_flops_per_pixel: _Amount | None = None
    normed_heads: bool = False
    guided: bool = True

    @property
    def num_streams(self) -> int:
        """Streams with matrices of their own."""
        return 2 if self.kind == "mmdit" else 1
