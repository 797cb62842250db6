"""One kernel of a pass, as the roofline takes it, and the share of the work it is for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netloom.spec.tuning import ALL_WEIGHTS

if TYPE_CHECKING:
    from netloom.spec.scenario import RouterChoice
    from netloom.spec.tuning import Tuning

__all__ = [
    "ACTIVATION_BYTES",
    "FUSED_BACKWARD",
    "AttentionKernel",
    "Operator",
    "OperatorKind",
    "Shard",
    "expert_load",
    "matmul",
    "norm",
    "pointwise",
]

AttentionKernel = Literal["fused", "unfused"]
OperatorKind = Literal["matmul", "attention", "pointwise", "norm", "scan"]

# Activations travel and are stored in 16 bits; fp8 runs keep bf16 activations between products.
ACTIVATION_BYTES = 2
# Reads 16 bits, writes 8 and their transpose (Transformer Engine's cast_transpose on Hopper);
# weights are cast once a step, which is not counted.
CAST_BYTES = 4
# FlashAttention-2 (arXiv:2307.08691) section 3.1.2: five products backward for two forward.
FUSED_BACKWARD = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One GPU's share of the work.

    Attributes:
        micro_batch: Sequences at a time.
        sequence: Tokens of a whole sequence.
        tensor: GPUs a layer's matrices are split over.
        context: GPUs a sequence is split over.
        expert: GPUs the experts are spread over.
        expert_tensor: GPUs that share each expert; None for 1 where experts are spread, and for
            *tensor* where they are not.
        sequence_parallel: Whether what tensor parallelism leaves whole is split by token.
        router_imbalance: By which share the busiest expert rank exceeds the mean, beyond chance.
        router_choice: Whether the experts of a token are any or neighbours.
        expert_capacity: What an expert takes at most, over the mean; None for all.
        attention: ``fused`` never writes the score matrix; ``unfused`` writes all of it.
        delta_excess: What the scans of Gated DeltaNet take over flash-linear-attention's kernels.
        tuning: Which weights are trained.
        span: Tokens that attend to one another; the whole sequence when left out.
        encodes: Whether a diffusion model's encoders run in the step.
    """

    micro_batch: int
    sequence: int
    tensor: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int | None = None
    sequence_parallel: bool = True
    router_imbalance: float = 0.0
    router_choice: RouterChoice = "any"
    expert_capacity: float | None = None
    attention: AttentionKernel = "fused"
    delta_excess: float = 1.0
    tuning: Tuning = ALL_WEIGHTS
    span: int | None = None
    encodes: bool = False

    def expert_load(self, tokens: float) -> float:
        """Return the tokens of the busiest expert rank over the mean, of *tokens* of all ranks."""
        load = expert_load(tokens, self.expert) * (1 + self.router_imbalance)
        return load if self.expert_capacity is None else min(load, self.expert_capacity)

    @property
    def expert_split(self) -> int:
        """GPUs that share each expert."""
        return self.expert_tensor or (1 if self.expert > 1 else self.tensor)

    @property
    def expert_gathered(self) -> int:
        """GPUs whose tokens each of those that share an expert works on."""
        return self.expert_split if self.sequence_parallel else 1

    @property
    def tokens(self) -> float:
        """Tokens of one micro-batch that this GPU sees in matrix products."""
        return self.micro_batch * self.sequence / self.context

    @property
    def split_tokens(self) -> float:
        """Tokens of one micro-batch in norms and residuals."""
        return self.tokens / (self.tensor if self.sequence_parallel else 1)


def expert_load(tokens: float, num_ranks: int) -> float:
    """Return the busiest rank's tokens over the mean, for a balanced router.

    Each of *tokens* goes to one of *num_ranks* equally likely ranks; the busiest of n Poisson
    counts of mean u has about u + sqrt(2 u ln n). Trained routers are less even than that.
    """
    mean = tokens / num_ranks
    return 1.0 if num_ranks == 1 else 1.0 + math.sqrt(2 * math.log(num_ranks) / mean)


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
        launches: Kernels that a scan launches forward, one after another.
        backward_launches: And backward.
        share: Of the layers of its kind, those that have it.
        paces: Bytes a second that the instructions of its kernels allow, forward and backward,
            where they may take longer than the memory; None where they do not.
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
    launches: int = 1
    backward_launches: int = 1
    share: float = 1.0
    paces: tuple[float, float] | None = None


def matmul(name: str, rows: float, columns: float, inner: float, *, num: float = 1) -> Operator:
    """Return a product of *rows* by *inner* with *num* matrices that share the rows."""
    flops = 2.0 * rows * columns * inner
    size_bytes = ACTIVATION_BYTES * (rows * (columns + inner) + num * columns * inner)
    return Operator(
        name=name,
        kind="matmul",
        flops=flops,
        size_bytes=size_bytes,
        backward_flops=2 * flops,
        backward_bytes=2 * size_bytes,
        cast_bytes=CAST_BYTES * rows * inner,
        backward_cast_bytes=CAST_BYTES * rows * columns,
        shape=(rows, columns, inner),
        num=num,
    )


def pointwise(name: str, elements: float, *, passes: float) -> Operator:
    """Return a kernel bound by memory that passes over *elements*."""
    size_bytes = ACTIVATION_BYTES * elements * passes
    # Backward reads the saved input as well as the gradient: half as much again.
    return Operator(
        name=name,
        kind="pointwise",
        flops=0,
        size_bytes=size_bytes,
        backward_flops=0,
        backward_bytes=1.5 * size_bytes,
    )


def norm(name: str, elements: float) -> Operator:
    """Return a norm of *elements*."""
    size_bytes = 2.0 * ACTIVATION_BYTES * elements
    return Operator(
        name=name,
        kind="norm",
        flops=0,
        size_bytes=size_bytes,
        backward_flops=0,
        backward_bytes=1.5 * size_bytes,
        cheap=True,
    )
