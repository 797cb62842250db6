"""How RoCE traffic is kept from loss: one set of numbers that hosts and switches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.fabric.wire import lossless_ethernet as lossless
from netloom.fabric.wire.lossless_ethernet import ALPHA, MTU_BYTES
from netloom.study.lossless_settings import lossless_settings_of, marks_of, published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.network import Network
    from netloom.ops.site import Site

__all__ = [
    "ALPHA",
    "MTU_BYTES",
    "EcnThresholds",
    "LosslessProfile",
    "Quality",
    "Watchdog",
    "Weights",
    "quality_of",
]


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
        alpha: Share of the free pool that it may take before it pauses.
    """

    rate_bps: float
    length_m: int
    xoff_bytes: int
    xon_offset_bytes: int
    alpha: float

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
        headroom_bytes: Buffer behind pauses, over all ports of a switch.
        xoff_at_bytes: Level of an ingress queue that pauses its peer with every port congested.
        parameters: Of the NICs' congestion control, as the packet engine calls them; what is
            missing stays as the NIC has it.
        cnp_interval_s: Least time between notifications of a flow; 0 for the NIC's own.
        connections: Queue pairs of a transfer.
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
    parameters: Mapping[str, float]
    cnp_interval_s: float
    connections: int

    @property
    def unused_dscps(self) -> tuple[int, ...]:
        """Those that systems map to the priorities of RoCE and its notifications by themselves.

        Each eight DSCPs go to the priority of their number, though no NIC sends RDMA with them.
        """
        own = {self.dscp, self.cnp_dscp}
        eights = (range(8 * p, 8 * p + 8) for p in (self.priority, self.cnp_priority))
        return tuple(dscp for eight in eights for dscp in eight if dscp not in own)

    def profile(self, rate_bps: float, length_m: float) -> LosslessProfile:
        """Return the profile of a port of this speed whose cable is *length_m* long."""
        return self.profiles[rate_bps, round(length_m)]


def quality_of(site: Site) -> Quality:
    """Return the settings of *site*'s lossless Ethernet, with which ``simulate`` runs it as well.

    Raises:
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: headroom leaves nothing of it.
        SpecError: the settings asked for are not known, or mark nothing.
    """
    network = site.network
    kinds = {(cable.rate_bps, round(site.length_m(cable))) for cable in site.plant.cables}
    fabric = site.scenario.cluster.fabric
    asked = published(fabric.settings) if fabric.settings else None
    if asked is not None and asked.marking is None:
        raise SpecError(
            key="cluster.fabric.settings",
            what=f"{asked.name} marks nothing in bytes, and files are written with marks alone",
            remedy="choose others, or leave them out and switch marking off yourself",
        )
    marks = marks_of(network.technology, fabric.settings or "")
    found = lossless_settings_of(
        network, fabric.floor, marks, alpha=0.0 if asked is None else asked.alpha
    )
    profiles = {
        (rate_bps, length): _profile(network, rate_bps, length, found.alpha)
        for rate_bps, length in sorted(kinds)
    }
    return Quality(
        priority=lossless.ROCE_PRIORITY,
        dscp=lossless.ROCE_DSCP,
        cnp_priority=lossless.CNP_PRIORITY,
        cnp_dscp=lossless.CNP_DSCP,
        mtu_bytes=lossless.MTU_BYTES,
        ecn=EcnThresholds(
            least_bytes=found.marking.kmin_bytes,
            most_bytes=found.marking.kmax_bytes,
            mark_pct=round(100 * found.marking.pmax),
        ),
        watchdog=Watchdog(),
        weights_pct=Weights(),
        profiles=profiles,
        pool_bytes=found.pool_bytes,
        headroom_bytes=found.headroom_bytes,
        xoff_at_bytes=found.xoff_at_bytes,
        parameters={} if asked is None else asked.parameters,
        cnp_interval_s=0.0 if asked is None else asked.cnp_interval_s,
        connections=(asked and asked.connections) or network.technology.flows_per_rank,
    )


def _profile(network: Network, rate_bps: float, length_m: int, alpha: float) -> LosslessProfile:
    return LosslessProfile(
        rate_bps=rate_bps,
        length_m=length_m,
        xoff_bytes=lossless.port_headroom_bytes(
            rate_bps=rate_bps, length_m=length_m, forward_s=network.technology.latency.switch_s
        ),
        xon_offset_bytes=lossless.RESUME_BYTES,
        alpha=lossless.alpha_at(rate_bps, host_rate_bps=network.design.port_rate_bps, alpha=alpha),
    )
