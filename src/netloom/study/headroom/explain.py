"""How the bytes of a headroom budget came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.wire import headroom, lossless_ethernet
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.provenance import Source, Why

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.fabric.wire.lossless_ethernet import LosslessSettings

__all__ = ["DividedBuffer", "explanations_of"]

_RESPONSE: Final = Source(
    citation="IEEE 802.3 31B.3.7, as in SONiC sonic-swss buffer_headroom_mellanox.lua @18913fa",
    confidence="published",
)
_ALPHA: Final = Source(citation="HPCC-ns3 third.cc: 1/8 of what is free", confidence="published")
_RESERVE: Final = Source(citation="share kept for lossy traffic and control", confidence="assumed")


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedBuffer:
    """What a switch's buffer is divided by, as ``HeadroomBudget`` has it."""

    network: Network
    settings: LosslessSettings
    mtu_bytes: int
    num_priorities: int
    port_headroom_bytes: int
    longest_m: float


def explanations_of(found: DividedBuffer) -> dict[str, Why]:
    """Return the explanation of each number by its key in the JSON."""
    port, together = _port(found), _together(found)
    pool = _pool(found, together)
    return {
        "port_headroom_bytes": port,
        "headroom_bytes": together,
        "pool_bytes": pool,
        "xoff_at_bytes": _threshold(found, pool, found.network.design.radix),
        "alone_at_bytes": _threshold(found, pool, 1),
    }


def _port(found: DividedBuffer) -> Why:
    rate, forward_s = found.network.design.port_rate_bps, found.network.technology.latency.switch_s
    parts = (
        Why(name="frames", value=2 * found.mtu_bytes, unit="B", how="one begun on each side"),
        Why(name="pause frame", value=64, unit="B"),
        Why(
            name="peer's response",
            value=headroom.peer_response_bytes(rate),
            unit="B",
            source=_RESPONSE,
        ),
        Why(
            name="cable",
            value=2 * found.longest_m * PROPAGATION_S_PER_M * rate / 8,
            unit="B",
            how=f"2 x {found.longest_m:g} m x 5 ns/m x rate",
        ),
        Why(name="switch latency", value=forward_s * rate / 8, unit="B", how="latency x rate"),
    )
    return Why(
        name="headroom of a port and priority",
        value=found.port_headroom_bytes,
        unit="B",
        how="sum, in whole cells of 256 B",
        parts=parts,
    )


def _together(found: DividedBuffer) -> Why:
    return Why(
        name="headroom of a switch",
        value=found.settings.headroom_bytes,
        unit="B",
        how=f"{found.network.design.radix} ports x {found.num_priorities} priorities",
        parts=(_port(found),),
    )


def _pool(found: DividedBuffer, together: Why) -> Why:
    switch = found.network.design.switch
    return Why(
        name="shared pool",
        value=found.settings.pool_bytes,
        unit="B",
        how="(buffer - headroom) x (1 - reserve)",
        parts=(
            Why(name=f"buffer of {switch.name}", value=switch.buffer_bytes or 0.0, unit="B"),
            together,
            Why(name="reserve", value=lossless_ethernet.RESERVE_SHARE, source=_RESERVE),
        ),
    )


def _threshold(found: DividedBuffer, pool: Why, num_congested: int) -> Why:
    settings = found.settings
    value = settings.alone_at_bytes if num_congested == 1 else settings.xoff_at_bytes
    return Why(
        name=f"pause threshold, {num_congested} congested",
        value=value,
        unit="B",
        how=f"alpha x pool / (1 + alpha x {num_congested})",
        parts=(pool, Why(name="alpha", value=settings.alpha, source=_ALPHA)),
    )
