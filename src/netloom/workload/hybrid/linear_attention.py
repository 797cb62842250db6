"""What layers compute that pass a state along the sequence: Mamba-2 and Gated DeltaNet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.workload.operator import ACTIVATION_BYTES, Operator, matmul, norm, pointwise

if TYPE_CHECKING:
    from netloom.parts.mixer import LinearMixer
    from netloom.workload.operator import Shard

__all__ = ["linear_operators", "recurrent_bytes"]

_FP32: Final = 4
# A scan takes its bytes at the memory's rate, its FLOPs at the roofline's SCAN_SHARE and its
# launches. One H200 (tools/measure_mixers.py): least absolute deviations of 13 scans, forward and
# backward; 8 of other models judge them (tests/unit/workload/test_scan_times.py). Some of what is
# counted stays in the cache.
SCAN_BYTES: Final = 0.72
SCAN_BACKWARD_BYTES: Final = 2.41
SCAN_BACKWARD_FLOPS: Final = 3.35
SCAN_LAUNCHES: Final = 8
SCAN_BACKWARD_LAUNCHES: Final = 35
# What Mamba-2's gated norm takes over a norm of as many bytes, forward and backward: Nemotron 3
# Nano's on the same H200; two of other sizes judge it.
GATED_NORM: Final = (0.63, 2.0)


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
    last_norm = _gated_norm(norm("mixer norm", 1.5 * inner), mixer)
    last = matmul("mixer out", tokens, hidden, mixer.inner / ranks)
    scan = _scan(mixer, tokens / ranks, shard.delta_excess if mixer.kind == "gated-delta" else 1.0)
    every = (first, conv, scan, last_norm, last)
    return tuple(replace(one, share=share) for one in every)


def _gated_norm(plain: Operator, mixer: LinearMixer) -> Operator:
    forward, backward = GATED_NORM if mixer.kind == "mamba-2" else (1.0, 1.0)
    return replace(
        plain,
        cheap=False,
        size_bytes=forward * plain.size_bytes,
        backward_bytes=backward * plain.backward_bytes,
    )


def _scan(mixer: LinearMixer, tokens: float, excess: float) -> Operator:
    """Return the scan of *tokens*, whose kernels move and compute *excess* times as much."""
    flops = excess * tokens * mixer.executed_flops_per_token
    size_bytes = excess * tokens * _scan_bytes(mixer)
    return Operator(
        name="scan",
        kind="scan",
        flops=flops,
        size_bytes=SCAN_BYTES * size_bytes,
        backward_flops=SCAN_BACKWARD_FLOPS * flops,
        backward_bytes=SCAN_BACKWARD_BYTES * size_bytes,
        launches=SCAN_LAUNCHES,
        backward_launches=SCAN_BACKWARD_LAUNCHES,
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
