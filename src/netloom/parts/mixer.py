"""Layers that pass a state along the sequence in place of attention."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from netloom.spec.strict import Strict

__all__ = ["ATTENTION", "EXPERTS", "FEED_FORWARD", "LINEAR", "LinearMixer", "MixerKind"]

MixerKind = Literal["mamba-2", "gated-delta"]
_Count = Annotated[int, Field(ge=1, le=1_000_000)]

# The letters of a pattern of layers (NemotronHConfig, hybrid_override_pattern).
LINEAR: Final = "M"
ATTENTION: Final = "*"
FEED_FORWARD: Final = "-"
EXPERTS: Final = "E"


class LinearMixer(Strict):
    """Mamba-2 (arXiv:2405.21060) or Gated DeltaNet (arXiv:2412.06464).

    Attributes:
        kind: Which of the two.
        num_heads: Of the values, each with a state of its own.
        head_dim: Of one head of the values.
        num_groups: Heads of keys and queries, which the heads of the values share (Mamba-2: B
            and C).
        state: Width of one of these: a head's state has *head_dim* x *state* values.
        convolution: Tokens that the convolution before the scan looks at.
        chunk: Tokens that the scan takes at a time as products.
    """

    kind: MixerKind
    num_heads: _Count
    head_dim: _Count
    num_groups: _Count
    state: _Count
    convolution: _Count = 4
    chunk: _Count = 128

    @property
    def inner(self) -> int:
        """All heads of the values side by side."""
        return self.num_heads * self.head_dim

    @property
    def keys(self) -> int:
        """All heads of the keys side by side; the queries are as wide."""
        return self.num_groups * self.state

    @property
    def channels(self) -> int:
        """What the convolution runs over: values, keys and queries."""
        return self.inner + 2 * self.keys

    @property
    def projected(self) -> int:
        """What the first product makes of a token.

        Besides the channels the gate, and for each head a step (Mamba-2) or a decay and a rate
        (Gated DeltaNet).
        """
        return self.channels + self.inner + self.num_heads * self.vectors_per_head

    @property
    def vectors_per_head(self) -> int:
        """Numbers that the first product makes of a token for each head."""
        return 1 if self.kind == "mamba-2" else 2

    @property
    def vector_parameters(self) -> int:
        """Parameters outside the two products.

        Mamba-2: convolution with bias, A, D and the step's bias of each head, a norm over all
        heads. Gated DeltaNet: convolution, A and the step's bias, one norm for all heads.
        """
        if self.kind == "mamba-2":
            return self.channels * (self.convolution + 1) + 3 * self.num_heads + self.inner
        return self.channels * self.convolution + 2 * self.num_heads + self.head_dim

    @property
    def needed_flops_per_token(self) -> float:
        """What convolution and scan need for a token, forward, as published.

        Megatron-LM's count (num_floating_point_operations): 7 for each value of the state with
        Mamba-2; four products of the state's size with Gated DeltaNet.
        """
        state = self.inner * self.state
        scan = 7.0 * state if self.kind == "mamba-2" else 8.0 * state
        return scan + 2.0 * self.convolution * self.channels

    @property
    def executed_flops_per_token(self) -> float:
        """What the scan's kernels execute for a token, forward, chunk by chunk.

        Mamba-2 (arXiv:2405.21060, section 6): scores of keys and queries in each group, their
        product with the values, the chunk's state and what the state gives: causal squares are
        computed whole. Gated DeltaNet (arXiv:2412.06464, section 3.3): besides, the products of
        keys among themselves, the inverse of that triangle with keys and values, and the state's
        correction.
        """
        chunk, state = self.chunk, self.inner * self.state
        if self.kind == "mamba-2":
            return 2.0 * chunk * (self.keys + self.inner) + 4.0 * state
        widths = 3 * self.num_heads * self.state + 2 * self.inner
        return 2.0 * chunk * widths + 6.0 * state + 2.0 / 3.0 * self.num_heads * chunk**2
