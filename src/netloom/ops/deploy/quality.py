"""How RoCE traffic is kept from loss: one set of numbers that hosts and switches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import CatalogError, InfeasibleError
from netloom.fabric.wire import headroom

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.ops.site import Site

__all__ = ["EcnThresholds", "LosslessProfile", "Quality", "Watchdog", "Weights", "quality_of"]

# DSCP 26 for RoCE on priority 3, DSCP 48 for congestion notifications on priority 6: the settings
# of NVIDIA's RoCE guides and of ConnectX firmware, CNP_DSCP 48 and CNP_802P_PRIO 6 (recalled).
ROCE_PRIORITY: Final = 3
ROCE_DSCP: Final = 26
CNP_PRIORITY: Final = 6
CNP_DSCP: Final = 48
MTU_BYTES: Final = 9216  # of the port; RDMA uses a path MTU of 4096
# ConWeave (SIGCOMM 2023), run.py: 100 KB, 400 KB, 0.2 at every speed.
ECN_MIN_BYTES: Final = 100_000
ECN_MAX_BYTES: Final = 400_000
ECN_MARK_PCT: Final = 20
ALPHA: Final = 1.0  # SONiC's dynamic_th 0 is 2^0 of what is free
RESERVE_SHARE: Final = 0.1  # of the buffer, for lossy traffic and control (assumed)
_CELL_BYTES: Final = 256  # to which sizes are rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class EcnThresholds:
    """Marking on the egress queue: none under the least, all over the most."""

    least_bytes: int
    most_bytes: int
    mark_pct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchdog:
    """What ends a pause that lasts.

    Detection and polling are the defaults of SONiC's pfcwd (recalled); traffic is let through
    again after twice as long (assumed).
    """

    detection_ms: int = 200
    restoration_ms: int = 400
    poll_ms: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Shares of a link, in percent, once congestion notifications are served first (assumed)."""

    roce: int = 80
    rest: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessProfile:
    """The headroom of ports with cables of up to a length.

    Attributes:
        length_m: Of the cable, whole metres.
        xoff_bytes: Room behind the pause threshold.
        xon_offset_bytes: How far below the threshold the peer may go on.
    """

    rate_bps: float
    length_m: int
    xoff_bytes: int
    xon_offset_bytes: int

    @property
    def name(self) -> str:
        """As SONiC calls it."""
        return f"pg_lossless_{self.rate_bps / 1e6:.0f}_{self.length_m}m_profile"


Profiles = dict[tuple[float, int], LosslessProfile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Priorities, marks, pauses and buffers.

    Attributes:
        profiles: By speed, and length of cable in whole metres.
        pool_bytes: Buffer that traffic shares.
        headroom_bytes: Buffer behind pauses, over all ports of the fullest switch.
        xoff_at_bytes: Level of an ingress queue that pauses its peer with every port congested.
    """

    priority: int
    dscp: int
    cnp_priority: int
    cnp_dscp: int
    mtu_bytes: int
    ecn: EcnThresholds
    watchdog: Watchdog
    weights_pct: Weights
    profiles: Profiles
    pool_bytes: int
    headroom_bytes: int
    xoff_at_bytes: int

    def profile(self, rate_bps: float, length_m: float) -> LosslessProfile:
        """Return the profile of a port of this speed whose cable is *length_m* long."""
        return self.profiles[rate_bps, round(length_m)]


def quality_of(site: Site) -> Quality:
    """Return the settings of *site*'s lossless Ethernet.

    Raises:
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: headroom leaves nothing of it.
    """
    network = site.network
    kinds = {(cable.rate_bps, round(site.length_m(cable))) for cable in site.plant.cables}
    profiles = {
        (rate_bps, length): _profile(rate_bps, length) for rate_bps, length in sorted(kinds)
    }
    buffer = _buffer(network)
    room = _fullest_headroom(site, profiles)
    pool = int((buffer - room) * (1 - RESERVE_SHARE))
    if pool <= 0:
        raise InfeasibleError(
            what=(
                f"switch {network.design.switch.name}: its ports need {room:,} bytes of "
                f"headroom, and its buffer has {buffer:,.0f}"
            ),
            remedy="shorten the longest cables or choose another switch",
        )
    num_ports = network.design.radix
    pause = headroom.thresholds(shared_bytes=pool, alpha=ALPHA, num_congested=num_ports)
    return Quality(
        priority=ROCE_PRIORITY,
        dscp=ROCE_DSCP,
        cnp_priority=CNP_PRIORITY,
        cnp_dscp=CNP_DSCP,
        mtu_bytes=MTU_BYTES,
        ecn=_ecn(pause.xoff_at_bytes),
        watchdog=Watchdog(),
        weights_pct=Weights(),
        profiles=profiles,
        pool_bytes=pool,
        headroom_bytes=room,
        xoff_at_bytes=int(pause.xoff_at_bytes),
    )


def _buffer(network: Network) -> float:
    switch = network.design.switch
    if switch.buffer_bytes is None:
        raise CatalogError(
            what=f"switch {switch.name}: its buffer is not known",
            remedy="add 'buffer' to your own parts",
        )
    return switch.buffer_bytes


def _profile(rate_bps: float, length_m: int) -> LosslessProfile:
    needed = headroom.textbook_bytes(
        rate_bps=rate_bps, length_m=length_m, mtu_bytes=MTU_BYTES, peer_mtu_bytes=MTU_BYTES
    )
    whole = -(-int(needed) // _CELL_BYTES) * _CELL_BYTES
    return LosslessProfile(
        rate_bps=rate_bps, length_m=length_m, xoff_bytes=whole, xon_offset_bytes=2 * MTU_BYTES
    )


def _fullest_headroom(site: Site, profiles: Profiles) -> int:
    """Return the headroom of all ports of the switch that needs most."""
    switches = range(len(site.nics), len(site.plant.devices))
    return max(
        sum(
            profiles[cable.rate_bps, round(site.length_m(cable))].xoff_bytes
            for cable in site.cables_of[number]
        )
        for number in switches
    )


def _ecn(xoff_at_bytes: float) -> EcnThresholds:
    """Return the marking; where pauses come early, marks come at a half and an eighth of it."""
    most = int(min(ECN_MAX_BYTES, xoff_at_bytes / 2))
    least = int(min(ECN_MIN_BYTES, most / 4))
    return EcnThresholds(least_bytes=least, most_bytes=most, mark_pct=ECN_MARK_PCT)
