"""How far InfiniBand's link-level credits carry full rate.

A receiver advertises at most 2048 blocks of 64 bytes per virtual lane: the limit field counts
modulo 4096 and a difference of 2048 or more reads as negative (InfiniBand vol. 1, section 7.9.4;
recalled). So no more than 128 KiB are under way on a lane, whatever the buffers could hold, and a
long cable idles while it waits for credits.
"""

from __future__ import annotations

import math
from typing import Final

from netloom.fabric.wire.latency import PROPAGATION_S_PER_M

__all__ = ["BLOCK_BYTES", "MAX_BLOCKS", "blocks", "reach_m", "usable_rate_bps"]

BLOCK_BYTES: Final = 64
MAX_BLOCKS: Final = 2048


def blocks(packet_bytes: float) -> int:
    """Return the credits a packet needs before it may start: whole blocks, headers included."""
    return math.ceil(packet_bytes / BLOCK_BYTES)


def reach_m(rate_bps: float, *, num_blocks: int = MAX_BLOCKS) -> float:
    """Return the longest cable that one lane still fills: credits over rate times round trip."""
    return num_blocks * BLOCK_BYTES * 8 / (rate_bps * 2 * PROPAGATION_S_PER_M)


def usable_rate_bps(
    line_rate_bps: float, *, length_m: float, num_blocks: int = MAX_BLOCKS
) -> float:
    """Return what one lane carries over a cable: the line, or its credits per round trip."""
    if length_m <= 0:
        return line_rate_bps
    return min(
        line_rate_bps, line_rate_bps * reach_m(line_rate_bps, num_blocks=num_blocks) / length_m
    )
