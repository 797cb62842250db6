"""One kernel of a pass, as the roofline takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Operator", "OperatorKind"]

OperatorKind = Literal["matmul", "attention", "pointwise", "norm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One kernel of the forward pass, and what its backward pass costs.

    Attributes:
        flops: Floating-point operations executed forward.
        size_bytes: Bytes moved to and from memory forward.
        backward_flops: The same of the backward pass.
        backward_bytes: The same of the backward pass.
        core_attention: Whether selective recomputation runs it again.
        cheap: Whether light recomputation does: norms, activation functions and the up-projections
            of latent attention (arXiv:2412.19437, section 3.2.3; Megatron-Core recompute_modules
            layernorm, moe_act, mla_up_proj).
        cast_bytes: What an fp8 product moves besides, to cast its input; 0 for others.
        backward_cast_bytes: And backward, to cast the gradient of its output.
        sequence: For attention, the tokens a query can look at.
        head_dim: For attention, the width of a head.
        shape: For a matrix product, its rows, columns and inner terms.
        num: Matrices that share the rows of a grouped product.
        frozen: Whether a product's matrix gets no gradient.
    """

    name: str
    kind: OperatorKind
    flops: float
    size_bytes: float
    backward_flops: float
    backward_bytes: float
    core_attention: bool = False
    cheap: bool = False
    cast_bytes: float = 0.0
    backward_cast_bytes: float = 0.0
    sequence: int = 0
    head_dim: int = 0
    shape: tuple[float, float, float] | None = None
    num: float = 1
    frozen: bool = False
