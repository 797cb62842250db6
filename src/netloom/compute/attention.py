"""How long fused attention takes: its work, the ends of its rows, and the last tile's wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.compute.gemm import Chip
    from netloom.compute.tables import TimedOperator

__all__ = ["Attention", "fit_attention", "tokens_of", "work_s"]

BACKWARD_WORK: Final = 2.5  # FlashAttention-2 (arXiv:2307.08691) section 3.1.2
# With latent attention a head's values are narrower than its keys (128 of 192 in DeepSeek's and
# Moonshot's models): mean width over the keys'.
LATENT_SHARE: Final = (192 + 128) / 2 / 192
# Rounds of re-weighting that turn squares into absolute errors, and the error below which rows
# count alike; 30 rounds leave the fit unchanged in six digits.
ROUNDS: Final = 30
ALIKE: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Measured attentions of one pass and head size.

    Attributes:
        per_work: Time over that at the full peak, of a long sequence with many heads.
        per_diagonal: Tokens' worth of work that each row adds: the mask's diagonal, or without a
            mask the start and end of a row of tiles.
        per_token_s: What the longest row of tiles, which no other work hides, takes per token.
    """

    per_work: float
    per_diagonal: float
    per_token_s: float

    def time_s(self, ideal_s: float, sequence: float) -> float:
        """Return the time of attention whose work takes *ideal_s* at the full peak."""
        work = self.per_work + self.per_diagonal / sequence
        return work * ideal_s + self.per_token_s * sequence


def work_s(operator: str, shape: Sequence[float], chip: Chip) -> float:
    """Return the time of attention at the full peak; with a causal mask half the square."""
    batch, sequence, heads, head_dim = shape[:4]
    pairs = batch * sequence * tokens_of(shape) * heads
    width = head_dim * (LATENT_SHARE if operator.startswith("latent") else 1.0)
    flops = (4 if operator.startswith("full") else 2) * pairs * width
    return flops * (BACKWARD_WORK if operator.endswith("backward") else 1.0) / chip.peak_flops


def tokens_of(shape: Sequence[float]) -> float:
    """Return the keys that a query looks at, were there no mask."""
    return shape[4] if len(shape) > 4 else shape[1]


def fit_attention(rows: Sequence[TimedOperator], chip: Chip) -> Attention:
    """Return the attention that is least off, in mean relative error, from *rows*.

    Least absolute deviations by re-weighted least squares (Schlossmacher 1973): the shortest rows
    wait for the host, and must not bend the others.
    """
    work = np.array([work_s(row.operator, row.shape, chip) for row in rows])
    tokens = np.array([tokens_of(row.shape) for row in rows], dtype=np.float64)
    times = np.array([row.time_s for row in rows])
    terms = np.stack([work, work / tokens, tokens], axis=1) / times[:, None]
    weights = np.ones(len(rows))
    found = np.zeros(3)
    for _ in range(ROUNDS):
        found = np.linalg.lstsq(terms * weights[:, None], weights, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(terms @ found - 1), ALIKE))
    per_work, per_diagonal, per_token_s = (float(value) for value in found)
    return Attention(per_work=per_work, per_diagonal=per_diagonal, per_token_s=per_token_s)
