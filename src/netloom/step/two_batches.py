"""Two halves of a batch that hide each other's way to the experts and back.

A GPU runs the halves in turn, in the order of SGLang's two-batch overlap (sgl-project/sglang
python/sglang/srt/operations_strategy.py, DeepSeek's strategies). Of a decode step, two stages
apart: one half's tokens leave, its shared experts and the other half's projections run, then its
experts; while its tokens return, the other half attends. Of prompts, side by side: both attend,
both run their experts, then both their shared experts. What is longer than what runs beside it
shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BESIDE_EXCHANGE", "HalfBatch"]

# What products take longer where DeepEP's kernels for prompts run beside them: 20 of an H100's 132
# multiprocessors are theirs (deepseek-ai/DeepEP deep_ep/buffer.py, num_sms), and SGLang leaves the
# experts' products the others.
BESIDE_EXCHANGE: Final = 132 / (132 - 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfBatch:
    """One layer of one half.

    Attributes:
        projections_s: What is computed from the end of the experts to the next attention.
        attention_s: From the attention to the router.
        shared_s: Shared experts.
        experts_s: The others.
        there_s: Its tokens' way to the experts.
        back_s: And back.
    """

    projections_s: float
    attention_s: float
    shared_s: float
    experts_s: float
    there_s: float
    back_s: float

    @property
    def exposed_decoding_s(self) -> float:
        """What shows of both halves' exchange in a decode step."""
        there_s = _over(self.there_s, self.shared_s + self.projections_s)
        return 2 * (there_s + _over(self.back_s, self.attention_s))

    @property
    def exposed_reading_s(self) -> float:
        """What shows of both halves' exchange where prompts are read."""
        before_s = self.projections_s + self.attention_s
        there_s = _over(self.there_s, before_s) + _over(self.there_s, self.experts_s)
        first_s = _over(self.back_s, self.experts_s + self.shared_s)
        return there_s + first_s + _over(self.back_s, 2 * self.shared_s)


def _over(way_s: float, beside_s: float) -> float:
    return max(0.0, way_s - beside_s)
