"""What one rank did in its steps, as a profiler recorded it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "CollectiveCall",
    "GpuWork",
    "HostWork",
    "KernelKind",
    "RankTimeline",
    "TimeSpan",
    "kind_of",
]

KernelKind = Literal["products", "attention", "memory-bound", "collective", "copy"]


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From when until when, in seconds of the recording's own clock."""

    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """How long."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuWork:
    """One kernel or copy.

    Attributes:
        launched_s: When the host had asked for it; None where the recording does not say.
    """

    name: str
    kind: KernelKind
    span: TimeSpan
    launched_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """What a program named on the host: a range of PyTorch's profiler or of NVTX."""

    name: str
    span: TimeSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCall:
    """One collective, as this rank saw it: from its own start to its end.

    Attributes:
        operation: As netloom calls it, such as ``all-reduce``; as recorded where it is none.
        size_bytes: What one rank gives; None where the recording does not say.
        group: What the program calls the group of ranks.
        num_ranks: In the group; 0 where the recording does not say.
        rank_stride: From one member to the next; 0 where the recording does not say.
    """

    operation: str
    span: TimeSpan
    size_bytes: int | None = None
    group: str = ""
    num_ranks: int = 0
    rank_stride: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimeline:
    """What one rank did.

    Attributes:
        rank: Of the job; 0 where the recording does not say.
        num_ranks: Of the job; 1 where the recording does not say.
        gpu: What the recording calls the GPU; empty where it does not say.
        steps: The steps that were recorded, in order; never empty.
        work: Kernels and copies, by start.
        host: Named ranges on the host, by start.
        collectives: By start.
        optimizer: When the optimizer's kernels ran.
    """

    rank: int
    num_ranks: int
    gpu: str
    steps: tuple[TimeSpan, ...]
    work: tuple[GpuWork, ...]
    host: tuple[HostWork, ...] = ()
    collectives: tuple[CollectiveCall, ...] = ()
    optimizer: tuple[TimeSpan, ...] = ()


# Names of kernels as cuBLAS, CUTLASS, Triton, cuDNN, FlashAttention, Transformer Engine and NCCL
# write them; the first that is found counts.
_KINDS: Final[tuple[tuple[KernelKind, re.Pattern[str]], ...]] = (
    (
        "collective",
        re.compile(r"nccl|rccl|deep_?ep|hybrid_?ep|nvshmem|all_?reduce_kernel", re.IGNORECASE),
    ),
    ("copy", re.compile(r"^(\[CUDA )?mem(cpy|set)", re.IGNORECASE)),
    ("attention", re.compile(r"flash|fmha|sdpa|attention|attn|mha_", re.IGNORECASE)),
    (
        "products",
        re.compile(
            r"gemm|nvjet|cutlass|cublas|xmma|wgmma|matmul|_mm_|gemv|grouped_?mm|Cijk_|"
            r"sm\d+_.*(bf16|fp8|f16|e4m3|e5m2).*(tn|nn|nt)",
            re.IGNORECASE,
        ),
    ),
)


def kind_of(kernel: str) -> KernelKind:
    """Return what a kernel of that name does; what is not known moves memory."""
    return next((kind for kind, pattern in _KINDS if pattern.search(kernel)), "memory-bound")
