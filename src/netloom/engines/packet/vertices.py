"""The settings of single switches in the arrays of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from netloom.engines.packet.marks import NEVER_BYTES
from netloom.engines.packet.scheme import SCHEMES
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.engines.packet.ecn import Ecn
    from netloom.engines.packet.settings import PacketSettings
    from netloom.engines.packet.vertex import VertexSettings
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["own_arrays"]

# What a port's queue may hold: the core counts it in 32 bits.
MAX_BUFFER_BYTES: Final = (1 << 32) - 1


def own_arrays(
    wiring: PacketTopology, settings: PacketSettings, arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return *arrays* of switches with what single ones have of their own.

    Raises:
        SpecError: a vertex is no switch, or a setting does not go with the others.
    """
    found = {name: np.array(column) for name, column in arrays.items()}
    found |= {name: np.empty(0, dtype=np.int64) for name in ("pool_bytes", "notice_ps", "relay_ps")}
    for vertex, own in settings.vertices.items():
        _check(wiring, settings, vertex, own)
        into = np.flatnonzero(wiring.link_target == vertex)
        out_of = np.flatnonzero(wiring.link_source == vertex)
        at_queues = into if settings.flow_control == "pfc" else out_of
        for name, where, value in (
            ("buffer_bytes", vertex, own.buffer_bytes),
            ("alpha", at_queues, own.alpha),
            ("headroom_bytes", into, own.headroom_bytes),
        ):
            if value is not None:
                found[name][where] = value
        _mark(found, out_of, wiring.link_rate_bps[out_of], own.ecn)
        if own.headroom_pool_bytes:
            _filled(found, "pool_bytes", wiring.num_vertices)[vertex] = own.headroom_pool_bytes
        if own.notice_ps:
            _filled(found, "notice_ps", wiring.num_links)[out_of] = own.notice_ps
        if own.relayed:
            _filled(found, "relay_ps", wiring.num_links)[list(own.relayed)] = own.relay_ps
    found["buffer_bytes"] = np.minimum(found["buffer_bytes"], MAX_BUFFER_BYTES)
    return found


def _filled(found: dict[str, NDArray[Any]], name: str, count: int) -> NDArray[Any]:
    if not len(found[name]):
        found[name] = np.zeros(count, dtype=np.int64)
    return found[name]


def _mark(
    found: Mapping[str, NDArray[Any]],
    links: NDArray[np.int64],
    rate_bps: NDArray[np.float64],
    ecn: Ecn | Literal["off"] | None,
) -> None:
    if ecn is None:
        return
    if ecn == "off":
        found["kmin_bytes"][links] = found["kmax_bytes"][links] = NEVER_BYTES
        return
    scale = rate_bps / ecn.at_rate_bps if ecn.at_rate_bps else np.ones_like(rate_bps)
    found["kmin_bytes"][links] = np.floor(scale * ecn.kmin_bytes)
    found["kmax_bytes"][links] = np.floor(scale * ecn.kmax_bytes)
    found["pmax"][links] = ecn.pmax


def _check(
    wiring: PacketTopology, settings: PacketSettings, vertex: int, own: VertexSettings
) -> None:
    where = f"vertices.{vertex}"
    if not wiring.num_endpoints <= vertex < wiring.num_vertices:
        raise SpecError(
            key=where,
            what="there is no such switch",
            remedy=f"switches are {wiring.num_endpoints} to {wiring.num_vertices - 1}",
        )
    has_headroom = own.headroom_bytes is not None or own.headroom_pool_bytes or own.relayed
    if has_headroom and settings.flow_control != "pfc":
        raise SpecError(
            key=where,
            what=f"headroom, pools and relays belong to pauses, and {settings.flow_control} has "
            "none",
            remedy="use flow control pfc, or leave them out",
        )
    foreign = [link for link in own.relayed if wiring.link_target[link] != vertex]
    if foreign:
        raise SpecError(
            key=f"{where}.relayed",
            what=f"link {foreign[0]} does not lead to it",
            remedy="name links that do",
        )
    hears = SCHEMES.get(settings.congestion_control).cnp_interval_ps > 0
    if own.notice_ps and not hears:
        able = [one.name for one in SCHEMES.entries() if one.cnp_interval_ps > 0]
        raise SpecError(
            key=f"{where}.notice_ps",
            what=f"{settings.congestion_control} hears no notifications",
            remedy=f"use {' or '.join(able)}, or leave it out",
        )
    if own.notice_ps and settings.flow_control not in {"pfc", "lossy", "trimming"}:
        raise SpecError(
            key=f"{where}.notice_ps",
            what=f"switches with {settings.flow_control} send none",
            remedy="use pfc, lossy or trimming",
        )
