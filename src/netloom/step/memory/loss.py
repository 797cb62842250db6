"""Logits and loss on the last stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netloom.workload.flops import ACTIVATION_BYTES, LOGIT_BYTES

if TYPE_CHECKING:
    from netloom.step.practice import Practice
    from netloom.workload.flops import Shard
    from netloom.workload.transformer import Transformer

__all__ = ["LossBytes", "loss_bytes"]


class LossBytes(NamedTuple):
    """What the last norm, the logits and the loss hold of one micro-batch.

    Attributes:
        kept: From forward to backward.
        forward: The most in the forward pass.
        backward: The most in the backward pass.
    """

    kept: float
    forward: float
    backward: float


def loss_bytes(shape: Transformer, shard: Shard, *, practice: Practice) -> LossBytes:
    """Return what the end of the model holds.

    PyTorch's cross entropy on fp32 logits keeps the log-softmax (4 bytes a logit); beside it stand
    the 16-bit logits and their fp32 copy in the forward pass (6 more), two fp32 gradients in the
    backward pass (8 more). Then comes the gradient of the output matrix, unless that is frozen: in
    16 bits, and with autocast once more in fp32. Megatron-LM's vocabulary-parallel cross entropy
    holds the 16-bit logits and their fp32 copy, which it works on in place.
    """
    logits = shard.tokens * shape.model.vocabulary / shard.tensor
    stream = shard.split_tokens * shape.model.hidden
    into = (2 * ACTIVATION_BYTES if practice.autocast else ACTIVATION_BYTES) * stream
    norm = into + ACTIVATION_BYTES * stream
    if practice.kernels != "torch":
        most = norm + (ACTIVATION_BYTES + LOGIT_BYTES) * logits
        return LossBytes(kept=norm + LOGIT_BYTES * logits, forward=most, backward=most)
    matrix = shape.model.vocabulary * shape.model.hidden / shard.tensor
    # Of autocast's 16-bit copy of the matrix, which is counted elsewhere, nothing is left by then.
    if shard.tuning.is_low_rank:
        matrix = 0.0
    update = ACTIVATION_BYTES * (stream + matrix)
    if practice.autocast:
        update += (LOGIT_BYTES - ACTIVATION_BYTES) * matrix
    return LossBytes(
        kept=norm + LOGIT_BYTES * logits,
        forward=norm + (ACTIVATION_BYTES + 2 * LOGIT_BYTES) * logits,
        backward=norm + max(3 * LOGIT_BYTES * logits, update),
    )
