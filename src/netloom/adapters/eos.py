"""Arista EOS: the running-config text of a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.quality import Quality
    from netloom.ops.plant import Cable

__all__ = ["eos_text"]


def eos_text(intent: Intent, number: int) -> str:
    """Return the configuration of switch *number* of the plant."""
    return "".join(f"{line}\n" for line in _lines(intent, number))


def _lines(intent: Intent, number: int) -> Iterator[str]:
    quality = intent.quality
    yield f"hostname {intent.site.hostnames[number]}"
    yield "!"
    if quality is not None:
        yield f"qos map dscp {quality.dscp} to traffic-class {quality.priority}"
        yield f"qos map dscp {quality.cnp_dscp} to traffic-class {quality.cnp_priority}"
        timeout_s = quality.watchdog.detection_ms / 1e3
        yield "priority-flow-control pause watchdog action drop"
        yield f"priority-flow-control pause watchdog default timeout {timeout_s:g}"
        yield "!"
    yield "interface Loopback0"
    yield f"   ip address {intent.router(number).loopback}/32"
    yield "!"
    for cable in intent.site.cables_of[number]:
        yield from _interface(intent, number, cable)
    yield from _routing(intent, number)


def _interface(intent: Intent, number: int, cable: Cable) -> Iterator[str]:
    own, peer = peer_of(cable, number)
    yield f"interface Ethernet{own.number}/1"
    yield f"   description {intent.site.hostnames[peer.device]}"
    yield f"   mtu {MTU_BYTES}"
    yield "   no switchport"
    if intent.site.is_host(peer):
        yield f"   ip address {intent.host_link(peer.device).switch_address}"
    else:
        yield "   ipv6 enable"
    if intent.quality is not None:
        yield from _quality(intent.quality)
    yield "!"


def _quality(quality: Quality) -> Iterator[str]:
    ecn = quality.ecn
    yield "   qos trust dscp"
    yield "   priority-flow-control on"
    yield f"   priority-flow-control priority {quality.priority} no-drop"
    yield f"   uc-tx-queue {quality.priority}"
    yield (
        f"      random-detect ecn minimum-threshold {ecn.least_bytes} bytes maximum-threshold "
        f"{ecn.most_bytes} bytes max-mark-probability {ecn.mark_pct}"
    )


def _routing(intent: Intent, number: int) -> Iterator[str]:
    router = intent.router(number)
    yield "ip routing ipv6 interfaces"
    yield f"router bgp {router.asn}"
    yield f"   router-id {router.loopback}"
    yield "   maximum-paths 128"
    yield "   bgp bestpath as-path multipath-relax"
    yield "   neighbor FABRIC peer group"
    for peer in router.peers:
        name = f"Ethernet{peer.removeprefix('swp')}/1"
        yield f"   neighbor interface {name} peer-group FABRIC remote-as external"
    yield "   address-family ipv4"
    yield "      neighbor FABRIC activate"
    yield "      neighbor FABRIC next-hop address-family ipv6 originate"
    for network in (f"{router.loopback}/32", *router.networks):
        yield f"      network {network}"
    yield "!"
