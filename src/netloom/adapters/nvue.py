"""NVUE (Cumulus Linux): the commands of a switch, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.quality import Quality

__all__ = ["nvue_text"]


def nvue_text(intent: Intent, number: int) -> str:
    """Return the commands for switch *number* of the plant."""
    return "".join(f"{line}\n" for line in _lines(intent, number))


def _lines(intent: Intent, number: int) -> Iterator[str]:
    site = intent.site
    yield f"nv set system hostname {site.hostnames[number]}"
    yield f"nv set interface lo ip address {intent.router(number).loopback}/32"
    for cable in site.cables_of[number]:
        own, peer = peer_of(cable, number)
        yield f"nv set interface swp{own.number} link mtu {MTU_BYTES}"
        if site.is_host(peer):
            address = intent.host_link(peer.device).switch_address
            yield f"nv set interface swp{own.number} ip address {address}"
    if intent.quality is not None:
        yield from _quality(intent.quality)
    yield from _routing(intent, number)


def _quality(quality: Quality) -> Iterator[str]:
    """Yield the lossless settings; the RoCE profile maps DSCP 26 to 3 and 48 to 6 by itself."""
    yield "nv set qos roce mode lossless"
    marks = "nv set qos congestion-control default-global traffic-class"
    yield f"{marks} {quality.priority} min-threshold {quality.ecn.least_bytes}"
    yield f"{marks} {quality.priority} max-threshold {quality.ecn.most_bytes}"
    yield f"{marks} {quality.priority} probability {quality.ecn.mark_pct}"
    yield "nv set qos pfc-watchdog default-global polling-interval 0:00:00.1"


def _routing(intent: Intent, number: int) -> Iterator[str]:
    router = intent.router(number)
    yield f"nv set router bgp autonomous-system {router.asn}"
    yield f"nv set router bgp router-id {router.loopback}"
    yield "nv set vrf default router bgp path-selection multipath aspath-ignore on"
    family = "nv set vrf default router bgp address-family ipv4-unicast"
    yield f"{family} network {router.loopback}/32"
    for network in router.networks:
        yield f"{family} network {network}"
    for peer in router.peers:
        yield f"nv set vrf default router bgp neighbor {peer} type unnumbered"
        yield f"nv set vrf default router bgp neighbor {peer} remote-as external"
