"""When switches mark packets."""

from __future__ import annotations

from dataclasses import dataclass

from netloom.fabric.wire.lossless_ethernet import RED, RED_RATE_BPS

__all__ = ["Ecn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecn:
    """Marking at dequeue on an egress queue's bytes.

    Attributes:
        kmin_bytes: Nothing is marked up to here.
        kmax_bytes: Everything is marked beyond.
        pmax: Share that is marked at ``kmax_bytes``.
        at_rate_bps: The thresholds are for ports of this rate, and grow with it; 0 for any.
        to_endpoints: Whether ports to endpoints mark as well. Where receivers pull they keep those
            queues short themselves, and marks are about paths alone (uet-htsim main_uec.cpp).
        at_roots: Whether ``pmax`` is the share of packets that is marked beyond ``kmin_bytes``, at
            ports alone that have credit for more (InfiniBand's FECN).
    """

    kmin_bytes: int = RED.kmin_bytes
    kmax_bytes: int = RED.kmax_bytes
    pmax: float = RED.pmax
    at_rate_bps: float = RED_RATE_BPS
    to_endpoints: bool = True
    at_roots: bool = False
