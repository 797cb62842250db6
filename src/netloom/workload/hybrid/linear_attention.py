"""What layers compute that pass a state along the sequence: Mamba-2 and Gated DeltaNet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.workload.operator import ACTIVATION_BYTES, Operator, matmul, norm, pointwise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.parts.mixer import LinearMixer, MixerKind
    from netloom.workload.operator import Shard

__all__ = ["linear_operators", "recurrent_bytes"]

_FP32: Final = 4
# Both passes of a chunked scan compute the chunks' states; backward then runs each product's two
# gradients: as FlashAttention, five products for two (Dao and Gu, arXiv:2405.21060; counted).
SCAN_BACKWARD: Final = 2.5
# Time of the scan over what its bytes need at the memory's rate. Gated DeltaNet: from Qwen3-Next
# on 64 GB300 (row megatron_bridge-0164, not judged); its kernels are Triton's and bound by
# instructions. Mamba-2: no step of a model with it is known here.
SCAN_EXCESS: Final[Mapping[MixerKind, float]] = {"mamba-2": 1.0, "gated-delta": 21.5}


def linear_operators(
    mixer: LinearMixer, hidden: int, shard: Shard, *, share: float
) -> tuple[Operator, ...]:
    """Return the operators of one layer's mixer, in order; tensor ranks divide its heads.

    Args:
        mixer: What passes the state along.
        hidden: Width of the model.
        shard: One GPU's share of a micro-batch.
        share: Of the layers of one kind, those that have it.
    """
    tokens, ranks = shard.tokens, shard.tensor
    inner = tokens * mixer.inner / ranks
    first = matmul("mixer in", tokens, mixer.projected / ranks, hidden)
    conv = pointwise("convolution", tokens * mixer.channels / ranks, passes=2)
    # The norm of the output reads the gate as well: half as much again.
    last_norm = norm("mixer norm", 1.5 * inner)
    last = matmul("mixer out", tokens, hidden, mixer.inner / ranks)
    every = (first, conv, _scan(mixer, tokens / ranks), replace(last_norm, cheap=False), last)
    return tuple(replace(one, share=share) for one in every)


def _scan(mixer: LinearMixer, tokens: float) -> Operator:
    """Return the scan of *tokens*, all its kernels."""
    flops = tokens * mixer.executed_flops_per_token
    size_bytes = tokens * SCAN_EXCESS[mixer.kind] * _scan_bytes(mixer)
    return Operator(
        name="scan",
        kind="scan",
        flops=flops,
        size_bytes=size_bytes,
        backward_flops=SCAN_BACKWARD * flops,
        backward_bytes=SCAN_BACKWARD * size_bytes,
    )


def _scan_bytes(mixer: LinearMixer) -> float:
    """Return what the scan's forward kernels move for a token, counted kernel by kernel.

    Mamba-2 (state-spaces/mamba, ssd_combined): the chunk's state and the output each read values
    and keys, states are written, passed on and read in fp32, the scores of each group written and
    read. Gated DeltaNet (flash-linear-attention, chunk_gated_delta_rule): keys go to four kernels,
    the corrected keys and values are written and read, states in 16 bits, the triangle of keys
    written, inverted and read twice.
    """
    inner, keys, chunk = mixer.inner, mixer.keys, mixer.chunk
    states = inner * mixer.state / chunk
    if mixer.kind == "mamba-2":
        moved = ACTIVATION_BYTES * (3 * inner + 4 * keys)
        return moved + 4 * _FP32 * states + 2 * _FP32 * mixer.num_groups * chunk
    wide_keys = mixer.num_heads * mixer.state
    moved = ACTIVATION_BYTES * (5 * keys + 2 * wide_keys + 6 * inner)
    triangle = mixer.num_heads * chunk * (2 * _FP32 + 2 * ACTIVATION_BYTES)
    return moved + 2 * ACTIVATION_BYTES * states + triangle


def recurrent_bytes(mixer: LinearMixer) -> float:
    """Return what one sequence leaves in one layer, however long it is.

    The state in fp32 (vLLM's mamba_ssm_cache_dtype of these models; recalled) and the last inputs
    of the convolution.
    """
    waiting = ACTIVATION_BYTES * mixer.channels * (mixer.convolution - 1)
    return _FP32 * mixer.inner * mixer.state + waiting
