"""Lossless Ethernet: one set of numbers for what is simulated and for what switches are told.

``simulate`` runs a scenario's switches with these, and ``deploy`` writes them into files: classes,
marks, pauses, headroom and the pool behind them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import CatalogError, InfeasibleError
from netloom.fabric.cost.layout import LENGTHS_M
from netloom.fabric.wire import headroom

if TYPE_CHECKING:
    from netloom.parts.parts import Switch

__all__ = [
    "ALPHA",
    "CNP_DSCP",
    "CNP_PRIORITY",
    "MTU_BYTES",
    "RED",
    "RED_RATE_BPS",
    "RESUME_BYTES",
    "ROCE_DSCP",
    "ROCE_PRIORITY",
    "LosslessSettings",
    "Marking",
    "alpha_at",
    "lossless_settings",
    "ordered_m",
    "port_headroom_bytes",
]

# DSCP 26 for RoCE on priority 3, DSCP 48 for congestion notifications on priority 6: the settings
# of NVIDIA's RoCE guides and of ConnectX firmware, CNP_DSCP 48 and CNP_802P_PRIO 6 (recalled).
ROCE_PRIORITY: Final = 3
ROCE_DSCP: Final = 26
CNP_PRIORITY: Final = 6
CNP_DSCP: Final = 48
MTU_BYTES: Final = 9216  # of the port; RDMA uses a path MTU of 4096
# HPCC-ns3 third.cc: an ingress queue may take 1/8 of what is free, more on faster ports.
ALPHA: Final = 0.125
# HPCC-ns3 switch-mmu: a queue resumes once it is 3 KiB under its threshold.
RESUME_BYTES: Final = 3_072
RESERVE_SHARE: Final = 0.1  # of the buffer, for lossy traffic and control (assumed)
# Marks begin before pauses may, with every port congested (Zhu et al., SIGCOMM 2015, section 4),
# and everything is marked before a queue that is alone is paused; by how much is assumed.
MARGIN: Final = 0.9
_CELL_BYTES: Final = 256  # to which sizes are rounded up
_TINY_M: Final = 1e-6  # less than that, a length is that of the cable sold


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """ECN on an egress queue.

    Attributes:
        kmin_bytes: Nothing is marked up to here.
        kmax_bytes: Everything is marked beyond.
        pmax: Share that is marked at ``kmax_bytes``.
    """

    kmin_bytes: int
    kmax_bytes: int
    pmax: float


# HPCC-ns3 run.py: 100 KB and 400 KB x bw/25 Gb/s, 0.2.
RED: Final = Marking(kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2)
RED_RATE_BPS: Final = 25e9


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessSettings:
    """How every switch of a network marks, pauses and divides its buffer.

    Attributes:
        alpha: Share of the free pool that an ingress queue at hosts' rate may take.
        pool_bytes: Buffer that traffic shares.
        headroom_bytes: Buffer behind pauses, over all ports of a switch.
        xoff_at_bytes: Level of an ingress queue that pauses its peer with every port congested.
        alone_at_bytes: The same while no other port is.
        resume_bytes: How far below it the peer may go on.
    """

    marking: Marking
    alpha: float
    pool_bytes: int
    headroom_bytes: int
    xoff_at_bytes: int
    alone_at_bytes: int
    resume_bytes: int = RESUME_BYTES


def ordered_m(laid_m: float) -> int:
    """Return the length of the cable that is ordered for *laid_m*: the next sold, whole metres."""
    return round(next((sold for sold in LENGTHS_M if sold >= laid_m - _TINY_M), laid_m))


def alpha_at(rate_bps: float, *, host_rate_bps: float, alpha: float = ALPHA) -> float:
    """Return the share of the free pool for a port: faster ones than hosts' take more, up to 1.

    An *alpha* over 1 is what hosts' ports have, and all others.
    """
    return min(max(1.0, alpha), alpha * max(1.0, rate_bps / host_rate_bps))


def port_headroom_bytes(
    *, rate_bps: float, length_m: float, forward_s: float, mtu_bytes: int = MTU_BYTES
) -> int:
    """Return the headroom of one port and priority, in whole cells.

    The textbook's, and what arrives while the switch's own pipeline passes the pause on.

    Raises:
        SpecError: IEEE 802.3 gives no pause response for this rate.
    """
    needed = headroom.textbook_bytes(
        rate_bps=rate_bps, length_m=length_m, mtu_bytes=mtu_bytes, peer_mtu_bytes=mtu_bytes
    )
    needed += forward_s * rate_bps / 8
    return math.ceil(needed / _CELL_BYTES) * _CELL_BYTES


def lossless_settings(  # noqa: PLR0913  (one number of a switch each)
    switch: Switch,
    *,
    num_ports: int,
    room_bytes: int,
    host_rate_bps: float,
    marking: Marking = RED,
    marking_rate_bps: float = RED_RATE_BPS,
    alpha: float = ALPHA,
) -> LosslessSettings:
    """Return how switches of a network are set.

    Args:
        switch: What they are.
        num_ports: That may be congested at once.
        room_bytes: The headroom of the port with the longest cable: every port is given that much
            room in the buffer, so that all switches have one pool.
        host_rate_bps: Rate of hosts' ports, for which marks are set.
        marking: What congestion control wants at ports of *marking_rate_bps*.
        marking_rate_bps: The thresholds grow with the rate from there; 0 for any rate.
        alpha: Share of the free pool that an input at hosts' rate may take.

    Raises:
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: headroom leaves nothing of it.
    """
    if switch.buffer_bytes is None:
        raise CatalogError(
            what=f"switch {switch.name}: its buffer is not known",
            remedy="add 'buffer' to your own parts",
        )
    room = num_ports * room_bytes
    pool = int((switch.buffer_bytes - room) * (1 - RESERVE_SHARE))
    if pool <= 0:
        raise InfeasibleError(
            what=(
                f"switch {switch.name}: its ports need {room:,} bytes of headroom, and its buffer "
                f"has {switch.buffer_bytes:,.0f}"
            ),
            remedy="shorten the longest cables or choose another switch",
        )
    pause, alone = (
        headroom.thresholds(shared_bytes=pool, alpha=alpha, num_congested=count).xoff_at_bytes
        for count in (num_ports, 1)
    )
    scale = host_rate_bps / marking_rate_bps if marking_rate_bps else 1.0
    return LosslessSettings(
        marking=Marking(
            kmin_bytes=int(min(scale * marking.kmin_bytes, MARGIN * pause)),
            kmax_bytes=int(min(scale * marking.kmax_bytes, MARGIN * alone)),
            pmax=marking.pmax,
        ),
        alpha=alpha,
        pool_bytes=pool,
        headroom_bytes=room,
        xoff_at_bytes=int(pause),
        alone_at_bytes=int(alone),
    )
