"""The buffer a lossless Ethernet port needs behind its pause threshold, and whether it is there.

After a receiver decides to pause, everything already under way still arrives: a round trip of
cable, a frame that each side had begun, and what the peer sends before it reacts. Two forms are
given: the one SONiC computes on NVIDIA Spectrum switches, to the byte, and the textbook's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from netloom.errors import CatalogError, InfeasibleError, SpecError
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from netloom.parts.parts import Switch

__all__ = [
    "PLATFORMS",
    "Fit",
    "Headroom",
    "LosslessTraffic",
    "Platform",
    "Thresholds",
    "fits",
    "longest_cable_m",
    "max_pause_s",
    "peer_response_bytes",
    "sonic",
    "textbook_bytes",
    "thresholds",
]

# IEEE 802.3 clause 31B.3.7, as tabulated in SONiC sonic-swss cfgmgr/buffer_headroom_mellanox.lua
# @18913fa: pause quanta by rate in Mb/s. The same file has 1G 2 and 100M 1.
_RESPONSE_QUANTA: Final = {
    10_000: 67,
    25_000: 80,
    40_000: 118,
    50_000: 147,
    100_000: 394,
    200_000: 453,
    400_000: 905,
    800_000: 905,
}
_QUANTUM_BYTES: Final = 64  # 512 bit times: IEEE 802.3 annex 31B
_PFC_FRAME_BYTES: Final = 64  # IEEE 802.1Qbb: padded to the least frame
_KIB: Final = 1024
_SONIC_LIGHT_M_PER_S: Final = 198_000_000  # the same file
_MIN_PACKET_BYTES: Final = 64
# HPCC-ns3 switch-mmu: a queue resumes once it is 3 KiB under its threshold.
_RESUME_OFFSET_BYTES: Final = 3 * _KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What SONiC knows of a switch chip.

    Attributes:
        cell_bytes: What the buffer is allotted in.
        pipeline_bytes: What passes before a pause takes effect inside the chip.
        mac_phy_bytes: What the port's own layers hold.
        gearbox_delay_ns: Of a retimer between chip and cage.
        lane_bps: Fastest lane of a port; ports of eight lanes are given more.
    """

    cell_bytes: int
    pipeline_bytes: float
    mac_phy_bytes: float
    gearbox_delay_ns: float = 0.0
    lane_bps: float = 25e9

    def num_lanes(self, rate_bps: float) -> int:
        """Return the lanes of a port of *rate_bps*."""
        return max(1, math.ceil(rate_bps / self.lane_bps))


# SONiC sonic-buildimage platform/mellanox/asic_table.j2 @4a9bf64; lanes by generation of SerDes
# (NVIDIA's data sheets, recalled).
_SPECTRUM: Final = Platform(cell_bytes=96, pipeline_bytes=19 * _KIB, mac_phy_bytes=0.8 * _KIB)
PLATFORMS: Final = {
    "spectrum": _SPECTRUM,
    "spectrum-2": replace(_SPECTRUM, cell_bytes=144, lane_bps=50e9),
    "spectrum-3": replace(_SPECTRUM, cell_bytes=144, lane_bps=50e9),
    "spectrum-4": replace(_SPECTRUM, cell_bytes=192, lane_bps=100e9),
    "spectrum-5": replace(_SPECTRUM, cell_bytes=192, lane_bps=100e9),
    "spectrum-6": replace(_SPECTRUM, cell_bytes=256, pipeline_bytes=42 * _KIB, lane_bps=200e9),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessTraffic:
    """The packets of the lossless priority; the defaults are SONiC's own.

    Attributes:
        mtu_bytes: Largest packet of the priority.
        small_packet_pct: Share of packets that fill a cell worst, 0 to 100.
    """

    mtu_bytes: int = 1024
    small_packet_pct: float = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """What SONiC writes into a lossless profile.

    Attributes:
        xon_bytes: Level under which the peer may resume.
        xoff_bytes: Room behind the pause threshold.
        size_bytes: What the port and priority reserve.
    """

    xon_bytes: int
    xoff_bytes: int
    size_bytes: int

    @property
    def pooled_size_bytes(self) -> int:
        """What it reserves when the headroom is a pool that all ports share."""
        return self.xon_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether headroom for all ports fits into a switch.

    Attributes:
        num_reservations: Ports times lossless priorities.
        needed_bytes: Their headroom together.
        buffer_bytes: The whole buffer of the switch.
    """

    num_reservations: int
    needed_bytes: float
    buffer_bytes: float

    @property
    def fits(self) -> bool:
        """Whether it fits, with nothing left for traffic in the limit."""
        return self.needed_bytes <= self.buffer_bytes

    @property
    def share(self) -> float:
        """Share of the buffer that waits for pauses and carries no traffic."""
        return self.needed_bytes / self.buffer_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Levels of one ingress queue at which it pauses and resumes its peer."""

    xoff_at_bytes: float
    xon_at_bytes: float


def peer_response_bytes(rate_bps: float) -> int:
    """Return what a peer may still send after a pause frame has reached it.

    Raises:
        SpecError: no allowance is known for this rate.
    """
    quanta = _RESPONSE_QUANTA.get(round(rate_bps / 1e6))
    if quanta is None:
        known = ", ".join(f"{mbps // 1000}G" for mbps in _RESPONSE_QUANTA)
        raise SpecError(
            key="rate",
            what=(
                "IEEE 802.3 31B.3.7 gives no pause response for "
                f"{format_quantity(rate_bps, RATE)} as tabulated here"
            ),
            remedy=f"use one of {known}",
        )
    return quanta * _QUANTUM_BYTES


def max_pause_s(rate_bps: float) -> float:
    """Return the longest pause one frame can ask for: 65535 quanta of 512 bits."""
    return 65535 * 512 / rate_bps


def textbook_bytes(
    *, rate_bps: float, length_m: float, mtu_bytes: int = 9216, peer_mtu_bytes: int = 9216
) -> float:
    """Return the headroom of one port and priority: two frames, the pause, response, round trip.

    MTU_R + MTU_S + 64 + response + 2 L 5 ns/m R.
    """
    on_cable = 2 * length_m * PROPAGATION_S_PER_M * rate_bps / 8
    fixed = mtu_bytes + peer_mtu_bytes + _PFC_FRAME_BYTES + peer_response_bytes(rate_bps)
    return fixed + on_cable


def longest_cable_m(
    *, rate_bps: float, available_bytes: float, mtu_bytes: int = 9216, peer_mtu_bytes: int = 9216
) -> float:
    """Return the cable that *available_bytes* of headroom keep lossless, 0 when none is."""
    fixed = textbook_bytes(
        rate_bps=rate_bps, length_m=0, mtu_bytes=mtu_bytes, peer_mtu_bytes=peer_mtu_bytes
    )
    return max(0.0, (available_bytes - fixed) * 8 / (2 * PROPAGATION_S_PER_M * rate_bps))


def sonic(
    platform: Platform,
    *,
    rate_bps: float,
    length_m: float,
    port_mtu_bytes: int = 9100,
    num_lanes: int = 4,
    traffic: LosslessTraffic | None = None,
) -> Headroom:
    """Return what SONiC configures: sonic-swss cfgmgr/buffer_headroom_mellanox.lua @18913fa.

    Followed to the operation, so that results agree to the byte: its cable holds 1000/1024 of the
    bytes a cable holds, because the file divides megabits by 8 * 1024.
    """
    traffic = traffic or LosslessTraffic()
    is_8_lane = num_lanes == 8
    arriving = (
        port_mtu_bytes
        + _sonic_cable_bytes(rate_bps, length_m)
        + 2 * _sonic_gearbox_bytes(rate_bps, platform)
        + platform.mac_phy_bytes
        + peer_response_bytes(rate_bps)
    )
    xoff = _whole_kib(traffic.mtu_bytes + arriving * _cell_occupancy(platform, traffic))
    xon = _whole_kib(platform.pipeline_bytes * 2 - _KIB if is_8_lane else platform.pipeline_bytes)
    size = _whole_kib(xoff + xon + (port_mtu_bytes if is_8_lane else 0))
    return Headroom(xon_bytes=xon, xoff_bytes=xoff, size_bytes=size)


def _sonic_cable_bytes(rate_bps: float, length_m: float) -> float:
    mbps = rate_bps / 1e6
    return 2 * length_m * mbps * 1_000_000_000 / _SONIC_LIGHT_M_PER_S / (8 * _KIB)


def _sonic_gearbox_bytes(rate_bps: float, platform: Platform) -> float:
    return rate_bps / 1e6 * platform.gearbox_delay_ns / (8 * _KIB)


def _cell_occupancy(platform: Platform, traffic: LosslessTraffic) -> float:
    """Buffer taken over bytes received: small packets waste the rest of their cells."""
    cell = platform.cell_bytes
    worst = cell / _MIN_PACKET_BYTES if cell > 2 * _MIN_PACKET_BYTES else 2 * cell / (1 + cell)
    return (100 - traffic.small_packet_pct + traffic.small_packet_pct * worst) / 100


def _whole_kib(size_bytes: float) -> int:
    return math.ceil(size_bytes / _KIB) * _KIB


def thresholds(*, shared_bytes: float, alpha: float, num_congested: int) -> Thresholds:
    """Return where an ingress queue pauses its peer when *num_congested* queues fill up together.

    The dynamic threshold alpha (B - used) settles at alpha B / (1 + alpha n): Choudhury and Hahne,
    Dynamic queue length thresholds, ToN 1998 (recalled). *shared_bytes* is the buffer less
    headroom.
    """
    pause = alpha * shared_bytes / (1 + alpha * num_congested)
    return Thresholds(xoff_at_bytes=pause, xon_at_bytes=max(0.0, pause - _RESUME_OFFSET_BYTES))


def fits(headroom_bytes: float, switch: Switch, *, rate_bps: float, num_priorities: int = 1) -> Fit:
    """Return whether every port of *switch* can reserve *headroom_bytes* per lossless priority.

    Raises:
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: the switch has no ports of this rate.
    """
    if switch.buffer_bytes is None:
        raise CatalogError(
            what=f"switch {switch.name}: its buffer is not known",
            remedy="add 'buffer' to your own parts",
        )
    num_ports = switch.radix(rate_bps)
    if num_ports == 0:
        raise InfeasibleError(
            what=f"switch {switch.name}: has no ports of {format_quantity(rate_bps, RATE)}",
            remedy=(
                "choose one of "
                f"{', '.join(format_quantity(m.rate_bps, RATE) for m in switch.modes)}"
            ),
        )
    count = num_ports * num_priorities
    return Fit(
        num_reservations=count,
        needed_bytes=count * headroom_bytes,
        buffer_bytes=switch.buffer_bytes,
    )
