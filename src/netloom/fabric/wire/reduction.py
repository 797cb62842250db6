"""What a switch must have to add up what its ports bring: memory for sums under way, and ports.

A sum of *window* bytes is kept until the slowest child has sent its part and the result has gone
up and come down again; at full rate the window is the rate times that round trip. Every group that
reduces at the same time has its own.
"""

from __future__ import annotations

import math

__all__ = ["concurrent_groups", "reduction_bytes", "reduction_tiers"]


def reduction_bytes(*, rate_bps: float, tree_rtt_s: float) -> float:
    """Return the memory that one group takes at full rate in every switch of its tree."""
    return rate_bps * tree_rtt_s / 8


def concurrent_groups(memory_bytes: float, *, rate_bps: float, tree_rtt_s: float) -> int:
    """Return how many groups can reduce at full rate at the same time; others run as rings."""
    each = reduction_bytes(rate_bps=rate_bps, tree_rtt_s=tree_rtt_s)
    return int(memory_bytes / each + 1e-9)


def reduction_tiers(num_members: int, *, radix: int) -> int:
    """Return the switch tiers of a tree over *num_members*: half the ports of a switch go down."""
    assert radix >= 4, radix
    return max(1, math.ceil(math.log(max(num_members, 1)) / math.log(radix // 2) - 1e-9))
