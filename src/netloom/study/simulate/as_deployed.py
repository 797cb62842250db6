"""A scenario's switches in the packet engine as ``deploy`` would set them up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import CatalogError, SpecError
from netloom.fabric.wire import lossless_ethernet as lossless
from netloom.fabric.wire.headroom import peer_response_bytes
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.study.lossless_settings import lossless_settings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.network import Network
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.spec.scenario import Floor

__all__ = ["as_deployed"]

_PS: Final = 1e12


def as_deployed(
    settings: PacketSettings,
    wiring: PacketTopology,
    network: Network,
    floor: Floor,
    *,
    has_own_marks: bool,
) -> PacketSettings:
    """Return *settings* with the buffers, headroom and marks that switches are told.

    Only where pauses are what keeps the network from loss. Where the switch's buffer or the pause
    response at a rate is not known ``deploy`` writes nothing, and the engine keeps its own.

    Args:
        settings: What the technology says.
        wiring: What is simulated.
        network: Whose wiring it is.
        floor: Where it stands.
        has_own_marks: Whether thresholds were asked for, which then stay.
    """
    if settings.flow_control != "pfc" or settings.switch.ingress_bytes:
        return settings
    try:
        rooms = _rooms(wiring, network)
        found = lossless_settings_of(network, floor, settings.ecn, alpha=settings.switch.alpha)
    except (CatalogError, SpecError):
        return settings
    held = np.zeros(wiring.num_vertices, dtype=np.int64)
    np.add.at(held, wiring.link_target, rooms)
    ecn = settings.ecn
    if ecn is not None and not has_own_marks:
        marks = found.marking
        ecn = replace(
            ecn, kmin_bytes=marks.kmin_bytes, kmax_bytes=marks.kmax_bytes, at_rate_bps=0.0
        )
    switch = replace(
        settings.switch,
        buffer_bytes=tuple((found.pool_bytes + held).tolist()),
        alpha=found.alpha,
        reserve_bytes=0,
    )
    pfc = replace(
        settings.pfc, headroom_bytes=tuple(rooms.tolist()), resume_bytes=found.resume_bytes
    )
    return replace(settings, ecn=ecn, switch=switch, pfc=pfc)


def _rooms(wiring: PacketTopology, network: Network) -> NDArray[np.int64]:
    """Return the headroom of each link at the switch it enters; none at endpoints."""
    rooms = np.zeros(wiring.num_links, dtype=np.int64)
    enters = (wiring.link_target >= wiring.num_endpoints) & ~wiring.link_scale_up
    keys = np.stack([wiring.link_rate_bps, wiring.link_delay_ps], axis=1)[enters]
    kinds, inverse = np.unique(keys, axis=0, return_inverse=True)
    sizes = np.array(
        [_room(float(rate), float(delay), network) for rate, delay in kinds], dtype=np.int64
    )
    rooms[enters] = sizes[inverse.reshape(-1)] if len(kinds) else 0
    return rooms


def _room(rate_bps: float, delay_ps: float, network: Network) -> int:
    return lossless.port_headroom_bytes(
        rate_bps=_port_rate(rate_bps, network),
        length_m=lossless.ordered_m(delay_ps / _PS / PROPAGATION_S_PER_M),
        forward_s=network.technology.latency.switch_s,
    )


def _port_rate(rate_bps: float, network: Network) -> float:
    """Return the rate of a port: a link that something slows down still has its port's."""
    try:
        peer_response_bytes(rate_bps)
    except SpecError:
        return network.design.port_rate_bps
    return rate_bps
