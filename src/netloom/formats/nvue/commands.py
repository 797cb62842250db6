"""NVUE (Cumulus Linux 5): the commands of a switch, one a line, as a script.

Commands are those of NVIDIA's NVUE reference (pages QoS, BGP, EVPN and VXLAN) for 5.6 to 5.10,
read command by command; later releases say ``state enabled`` for ``enable on``. Nothing here has
run on a switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.nvue.site_commands import owned, site_commands
from netloom.ops.deploy import timers
from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.overlay import Overlay
    from netloom.ops.deploy.quality import Quality
    from netloom.ops.plant import Cable, Port
    from netloom.ops.site import Site

__all__ = ["nvue_text", "port_name"]

MAX_WAYS: Final = 128  # NVUE reference, BGP: multipaths ebgp 1-128


def nvue_text(intent: Intent, number: int) -> str:
    """Return the script for switch *number* of the plant; its last line applies the rest.

    What is netloom's is unset before it is set: what an earlier script set and this one does not
    is gone, and what stays the same is not touched, since both are one revision.
    """
    unset = (f"nv unset {part}" for part in owned(intent.site.scenario.site))
    lines = ("#!/bin/sh", "set -eu", *unset, *_lines(intent, number), "nv config apply -y")
    return "".join(f"{line}\n" for line in lines)


def port_name(site: Site, port: Port) -> str:
    """Return what Cumulus Linux calls a port: ``swp7``, ``swp7s1`` in a split cage."""
    cage = site.cage(port)
    return f"swp{cage.number}" + (f"s{cage.slot}" if cage.num_slots > 1 else "")


def _lines(intent: Intent, number: int) -> Iterator[str]:
    site = intent.site
    yield f"nv set system hostname {site.hostnames[number]}"
    yield from site_commands(intent, number)
    yield f"nv set interface lo ip address {intent.router(number).loopback}/32"
    yield from _breakouts(site, number)
    for cable in site.cables_of[number]:
        yield from _interface(intent, number, cable)
    if intent.quality is not None:
        longest_m = max(site.length_m(cable) for cable in site.cables_of[number])
        yield from _quality(intent.quality, longest_m)
    yield from _routing(intent, number)


def _breakouts(site: Site, number: int) -> Iterator[str]:
    """Yield how cages are split, each once."""
    cages = (site.cage(peer_of(cable, number)[0]) for cable in site.cables_of[number])
    for cage, num_slots in dict.fromkeys((cage.number, cage.num_slots) for cage in cages):
        if num_slots > 1:
            yield f"nv set interface swp{cage} link breakout {num_slots}x"


def _interface(intent: Intent, number: int, cable: Cable) -> Iterator[str]:
    own, peer = peer_of(cable, number)
    name = port_name(intent.site, own)
    yield f"nv set interface {name} link mtu {MTU_BYTES}"
    yield f"nv set interface {name} description '{_description(intent.site, peer)}'"
    if intent.site.is_host(peer):
        yield from _host_port(intent, name, peer.device)
    if intent.quality is not None:
        yield f"nv set interface {name} qos pfc-watchdog state enable"


def _description(site: Site, peer: Port) -> str:
    return f"{site.hostnames[peer.device]} {site.label(peer)}"


def _host_port(intent: Intent, name: str, host: int) -> Iterator[str]:
    vrf = intent.vrf(host)
    if intent.is_shut(host):
        yield f"nv set interface {name} link state down"
        return
    if vrf is not None:
        yield f"nv set interface {name} ip vrf {vrf.name}"
    yield f"nv set interface {name} ip address {intent.host_link(host).switch_address}"


def _quality(quality: Quality, longest_m: float) -> Iterator[str]:
    """Yield the lossless settings.

    The RoCE profile maps DSCP 24 to 31 and 48 to 55 to priorities 3 and 6, those to classes of
    their number, pauses 3 and serves 6 first. DSCPs that no NIC sends, cable length (from 5.4 on
    under pfc; 100 m unless told), shares of the link, marks and the watchdog differ from it.
    """
    yield "nv set qos roce mode lossless"
    for dscp in quality.unused_dscps:
        yield f"nv set qos mapping default-global dscp {dscp} switch-priority 0"
    yield f"nv set qos pfc default-global cable-length {longest_m:.0f}"
    shares = {quality.priority: quality.weights_pct.roce, 0: quality.weights_pct.rest}
    for traffic_class, share in shares.items():
        scheduler = f"nv set qos egress-scheduler default-global traffic-class {traffic_class}"
        yield f"{scheduler} mode dwrr"
        yield f"{scheduler} bw-percent {share}"
    marks = f"nv set qos congestion-control default-global traffic-class {quality.priority}"
    yield f"{marks} ecn enable"
    yield f"{marks} min-threshold {quality.ecn.least_bytes}"
    yield f"{marks} max-threshold {quality.ecn.most_bytes}"
    yield f"{marks} probability {quality.ecn.mark_pct}"
    watchdog = quality.watchdog
    polls = max(1, watchdog.detection_ms // watchdog.poll_ms)
    yield f"nv set qos pfc-watchdog polling-interval {watchdog.poll_ms}"
    yield f"nv set qos pfc-watchdog robustness {polls}"


def _routing(intent: Intent, number: int) -> Iterator[str]:
    router = intent.router(number)
    yield "nv set router bgp enable on"
    yield f"nv set router bgp autonomous-system {router.asn}"
    yield f"nv set router bgp router-id {router.loopback}"
    bgp = "nv set vrf default router bgp"
    yield f"{bgp} path-selection multipath aspath-ignore on"
    ways = min(MAX_WAYS, intent.num_ways)
    yield f"{bgp} address-family ipv4-unicast multipaths ebgp {ways}"
    for network in (f"{router.loopback}/32", *router.networks):
        yield f"{bgp} address-family ipv4-unicast network {network}"
    for name in _peers(intent.site, number):
        yield f"{bgp} neighbor {name} type unnumbered"
        yield f"{bgp} neighbor {name} remote-as external"
        yield from _timers(f"{bgp} neighbor {name}")
    overlay = intent.overlay(number)
    if overlay is not None:
        yield f"{bgp} address-family l2vpn-evpn enable on"
        for name in _peers(intent.site, number):
            yield f"{bgp} neighbor {name} address-family l2vpn-evpn enable on"
        yield from _tunnels(intent, number, overlay)


def _timers(neighbour: str) -> Iterator[str]:
    """Yield how soon a session notices that its neighbour is gone, as FRR's file has it."""
    yield f"{neighbour} timers keepalive {timers.KEEPALIVE_S}"
    yield f"{neighbour} timers hold {timers.HOLD_S}"
    yield f"{neighbour} timers connection-retry {timers.CONNECT_S}"
    yield f"{neighbour} bfd enable on"
    yield f"{neighbour} bfd detect-multiplier {timers.BFD_MULTIPLIER}"
    yield f"{neighbour} bfd min-rx-interval {timers.BFD_MS}"
    yield f"{neighbour} bfd min-tx-interval {timers.BFD_MS}"


def _tunnels(intent: Intent, number: int, overlay: Overlay) -> Iterator[str]:
    """Yield what tenants need: tunnels that keep the class of packets, and a VRF for each."""
    router = intent.router(number)
    if overlay.vrfs:
        yield "nv set evpn enable on"
        yield "nv set nve vxlan enable on"
        yield f"nv set nve vxlan source address {router.loopback}"
        yield "nv set nve vxlan encapsulation dscp action copy"
        yield "nv set nve vxlan decapsulation dscp action preserve"
    for vrf in overlay.vrfs:
        yield f"nv set vrf {vrf.name} evpn enable on"
        yield f"nv set vrf {vrf.name} evpn vni {vrf.vni}"
        bgp = f"nv set vrf {vrf.name} router bgp"
        yield f"{bgp} enable on"
        yield f"{bgp} autonomous-system {router.asn}"
        yield f"{bgp} router-id {router.loopback}"
        yield f"{bgp} rd {router.loopback}:{vrf.vni}"
        yield f"{bgp} route-import from-evpn route-target {vrf.target}"
        yield f"{bgp} route-export to-evpn route-target {vrf.target}"
        unicast = f"{bgp} address-family ipv4-unicast"
        yield f"{unicast} enable on"
        for link in vrf.links:
            yield f"{unicast} network {link.switch_address.network}"
        yield f"{unicast} route-export to-evpn enable on"


def _peers(site: Site, number: int) -> Iterator[str]:
    for cable in site.cables_of[number]:
        own, peer = peer_of(cable, number)
        if not site.is_host(peer):
            yield port_name(site, own)
