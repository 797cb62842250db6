"""The number formats that matrix products of a training run take."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["PRODUCT_BITS", "Precision", "is_cast", "product_bytes"]

# fp8 scales whole tensors (delayed or current scaling), mxfp8 blocks of 32 (OCP MX), nvfp4 blocks
# of 16; Transformer Engine's recipes.
Precision = Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4"]
PRODUCT_BITS: Final[dict[Precision, int]] = {
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "mxfp8": 8,
    "nvfp4": 4,
}


def is_cast(precision: Precision) -> bool:
    """Whether products take casts of what is kept in 16 bits."""
    return PRODUCT_BITS[precision] < PRODUCT_BITS["bf16"]


def product_bytes(precision: Precision) -> float:
    """Return the bytes of one value that enters a product, block scales apart."""
    return PRODUCT_BITS[precision] / 8
