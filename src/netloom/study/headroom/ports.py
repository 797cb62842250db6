"""The headroom of each kind of port, by every formula that is known for its switch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from netloom.fabric.wire import headroom, lossless_ethernet
from netloom.fabric.wire.sonic_lookup import lookup

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.parts import Switch

__all__ = ["PortHeadroom", "port_headroom", "sonic_asic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHeadroom:
    """What one port needs for one lossless priority.

    Attributes:
        ports: Which: ``node-leaf``, from the lower to the upper level.
        length_m: Of the cable as ordered.
        headroom_bytes: What ``deploy`` writes and ``simulate`` runs: the textbook's and what
            arrives during the switch's own latency, in whole cells.
        textbook_bytes: Two frames, the pause, the peer's response, the cable both ways.
        sonic_bytes: SONiC's dynamic buffer model, only small packets (its default); None where it
            does not know the chip.
        sonic_large_bytes: The same where packets fill their cells.
        sonic_lookup_bytes: SONiC's ``pg_profile_lookup.ini``; None where it has no such row.
        lookup_hwsku: Whose table that is.
    """

    ports: str
    rate_bps: float
    length_m: float
    headroom_bytes: int
    textbook_bytes: float
    sonic_bytes: int | None
    sonic_large_bytes: int | None
    sonic_lookup_bytes: int | None
    lookup_hwsku: str | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def sonic_asic(switch: Switch) -> str:
    """Return the name that SONiC's tables have for the switch's chip, which they may not know."""
    return switch.asic.lower().replace(" ", "-")


def port_headroom(
    network: Network, *, ports: str, rate_bps: float, length_m: float, mtu_bytes: int
) -> PortHeadroom:
    """Return what a port of *rate_bps* at the end of a cable of *length_m* needs.

    Raises:
        SpecError: IEEE 802.3 gives no pause response for this rate.
    """
    asic = sonic_asic(network.design.switch)
    row = lookup(asic, rate_bps=rate_bps, length_m=length_m)
    return PortHeadroom(
        ports=ports,
        rate_bps=rate_bps,
        length_m=length_m,
        headroom_bytes=lossless_ethernet.port_headroom_bytes(
            rate_bps=rate_bps,
            length_m=length_m,
            forward_s=network.technology.latency.switch_s,
            mtu_bytes=mtu_bytes,
        ),
        textbook_bytes=headroom.textbook_bytes(
            rate_bps=rate_bps, length_m=length_m, mtu_bytes=mtu_bytes, peer_mtu_bytes=mtu_bytes
        ),
        sonic_bytes=_sonic(asic, rate_bps, length_m, mtu_bytes, small_pct=100),
        sonic_large_bytes=_sonic(asic, rate_bps, length_m, mtu_bytes, small_pct=0),
        sonic_lookup_bytes=None if row is None else row.xoff_bytes,
        lookup_hwsku=None if row is None else row.hwsku,
    )


def _sonic(
    asic: str, rate_bps: float, length_m: float, mtu_bytes: int, *, small_pct: float
) -> int | None:
    platform = headroom.PLATFORMS.get(asic)
    if platform is None:
        return None
    return headroom.sonic(
        platform,
        rate_bps=rate_bps,
        length_m=length_m,
        port_mtu_bytes=mtu_bytes,
        num_lanes=platform.num_lanes(rate_bps),
        traffic=headroom.LosslessTraffic(small_packet_pct=small_pct),
    ).xoff_bytes
