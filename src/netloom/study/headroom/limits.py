"""What breaks first: how far the design is from each limit of lossless Ethernet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netloom.fabric.wire import headroom
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M

if TYPE_CHECKING:
    from netloom.fabric.wire.lossless_ethernet import LosslessSettings

__all__ = ["BufferLimit", "cable_limit_m", "incast_limit", "marking_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferLimit:
    """One limit.

    Attributes:
        what: What grows.
        unit: Of both numbers; empty for a count.
        limit: Where it breaks; None where it never does.
        have: What the design has, or may have.
        then: What happens beyond.
    """

    what: str
    unit: str
    limit: float | None
    have: float
    then: str

    @property
    def margin(self) -> float:
        """The limit over what the design has: under 1 it is broken already."""
        if self.limit is None or not self.have:
            return math.inf
        return self.limit / self.have

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        margin = self.margin
        return {
            "what": self.what,
            "unit": self.unit,
            "limit": self.limit,
            "have": self.have,
            "margin": margin if math.isfinite(margin) else None,
            "then": self.then,
        }


def cable_limit_m(
    *, buffer_bytes: float, fixed_bytes: float, rate_bps: float, num_reservations: int
) -> float:
    """Return the cable at which headroom for every port and priority takes the whole buffer.

    Args:
        buffer_bytes: Of the switch.
        fixed_bytes: Headroom of a port without its cable.
        rate_bps: Of a port.
        num_reservations: Ports times lossless priorities, all with a cable of that length.
    """
    room = buffer_bytes / num_reservations - fixed_bytes
    return max(0.0, room * 8 / (2 * PROPAGATION_S_PER_M * rate_bps))


def marking_limit(settings: LosslessSettings) -> int | None:
    """Return how many ports may be congested at once before pauses start short of ``kmax``.

    XOFF of n congested queues is alpha B / (1 + alpha n): the n at which that is Kmax.
    """
    if not settings.marking.kmax_bytes:
        return None
    pool, alpha = settings.pool_bytes, settings.alpha
    return max(0, math.floor(pool / settings.marking.kmax_bytes - 1 / alpha))


def incast_limit(settings: LosslessSettings, *, window_bytes: float, most: int) -> int | None:
    """Return the fewest senders, one a port, whose first windows into one port raise a pause.

    Each of n ingress queues keeps (1 - 1/n) of what it is sent while the egress port drains; None
    where *most* senders do not reach the threshold.
    """
    for count in range(2, most + 1):
        level = headroom.thresholds(
            shared_bytes=settings.pool_bytes, alpha=settings.alpha, num_congested=count
        ).xoff_at_bytes
        if window_bytes * (1 - 1 / count) >= level:
            return count
    return None
