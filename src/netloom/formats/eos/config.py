"""Arista EOS: the running-config text of a switch.

Forms of commands are those that Arista's own configuration generator (AVD, eos_cli_config_gen)
prints. Nothing here has run on a switch.

The file is a whole configuration, so that ``configure replace`` removes what an earlier one had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.eos.site_lines import site_lines
from netloom.ops.deploy import timers
from netloom.ops.site import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.overlay import Vrf
    from netloom.ops.deploy.quality import Quality
    from netloom.ops.plant import Cable, Port
    from netloom.ops.site import Site
    from netloom.ops.underlay import BgpRouter

__all__ = ["eos_text", "port_name"]

MTU_BYTES: Final = 9214  # the largest of a routed port (EOS manual: 68 to 9214)
REST_CLASS: Final = 1  # where EOS's own map sends DSCP 0 to 7
CAGE_LANES: Final = 8  # OSFP: a cage split in two has the interfaces /1 and /5


def eos_text(intent: Intent, number: int) -> str:
    """Return the configuration of switch *number* of the plant."""
    return "".join(f"{line}\n" for line in _lines(intent, number))


def _lines(intent: Intent, number: int) -> Iterator[str]:
    yield "service routing protocols model multi-agent"
    yield "!"
    yield f"hostname {intent.site.hostnames[number]}"
    yield "!"
    yield from site_lines(intent, number)
    if intent.quality is not None:
        yield from _global_quality(intent.quality)
    vrfs = _vrfs(intent, number)
    for vrf in vrfs:
        yield f"vrf instance {vrf.name}"
        yield "!"
    yield "interface Loopback0"
    yield f"   ip address {intent.router(number).loopback}/32"
    yield "!"
    for cable in intent.site.cables_of[number]:
        yield from _interface(intent, number, cable)
    if vrfs:
        yield from _tunnels(vrfs)
    yield from _routing(intent, number)


def _vrfs(intent: Intent, number: int) -> tuple[Vrf, ...]:
    overlay = intent.overlay(number)
    return () if overlay is None else overlay.vrfs


def _tunnels(vrfs: tuple[Vrf, ...]) -> Iterator[str]:
    """Yield the interface of tunnels, which keep the class of packets and the marks on them."""
    yield "interface Vxlan1"
    yield "   vxlan source-interface Loopback0"
    yield "   vxlan udp-port 4789"
    for vrf in vrfs:
        yield f"   vxlan vrf {vrf.name} vni {vrf.vni}"
    yield "   vxlan qos ecn propagation"
    yield "   vxlan qos dscp propagation encapsulation"
    yield "!"


def _global_quality(quality: Quality) -> Iterator[str]:
    watchdog = quality.watchdog
    pause = "priority-flow-control pause watchdog"
    unused = " ".join(str(dscp) for dscp in quality.unused_dscps)
    yield f"qos map dscp {unused} to traffic-class {REST_CLASS}"
    yield f"qos map dscp {quality.dscp} to traffic-class {quality.priority}"
    yield f"qos map dscp {quality.cnp_dscp} to traffic-class {quality.cnp_priority}"
    yield f"{pause} action drop"
    yield f"{pause} default timeout {watchdog.detection_ms / 1e3:g}"
    yield f"{pause} default recovery-time {watchdog.restoration_ms / 1e3:g}"
    yield f"{pause} default polling-interval {watchdog.detection_ms / 2e3:g}"  # half at most
    yield "!"


def port_name(site: Site, port: Port) -> str:
    """Return what EOS calls a port: the cage and the first of its lanes."""
    cage = site.cage(port)
    return f"Ethernet{cage.number}/{1 + cage.slot * CAGE_LANES // cage.num_slots}"


def _interface(intent: Intent, number: int, cable: Cable) -> Iterator[str]:
    own, peer = peer_of(cable, number)
    yield f"interface {port_name(intent.site, own)}"
    yield f"   description {intent.site.hostnames[peer.device]} {intent.site.label(peer)}"
    yield f"   mtu {MTU_BYTES}"
    lanes = CAGE_LANES // intent.site.cage(own).num_slots
    yield f"   speed {cable.rate_bps / 1e9:.0f}g-{lanes}"
    yield "   no switchport"
    if not intent.site.is_host(peer):
        yield "   ipv6 enable"
    elif intent.is_shut(peer.device):
        yield "   shutdown"
    else:
        vrf = intent.vrf(peer.device)
        if vrf is not None:
            yield f"   vrf {vrf.name}"
        yield f"   ip address {intent.host_link(peer.device).switch_address}"
    if intent.quality is not None:
        yield from _quality(intent.quality)
    yield "!"


def _quality(quality: Quality) -> Iterator[str]:
    ecn, weights = quality.ecn, quality.weights_pct
    yield "   qos trust dscp"
    yield "   priority-flow-control on"
    yield f"   priority-flow-control priority {quality.priority} no-drop"
    yield f"   uc-tx-queue {REST_CLASS}"
    yield "      no priority"
    yield f"      bandwidth percent {weights.rest}"
    yield f"   uc-tx-queue {quality.priority}"
    yield "      no priority"
    yield f"      bandwidth percent {weights.roce}"
    yield (
        f"      random-detect ecn minimum-threshold {ecn.least_bytes} bytes maximum-threshold "
        f"{ecn.most_bytes} bytes max-mark-probability {ecn.mark_pct} weight 0"
    )
    yield f"   uc-tx-queue {quality.cnp_priority}"
    yield "      priority strict"


def _routing(intent: Intent, number: int) -> Iterator[str]:
    router = intent.router(number)
    yield "ip routing ipv6 interfaces"
    yield "ipv6 unicast-routing"
    for vrf in _vrfs(intent, number):
        yield f"ip routing vrf {vrf.name}"
    yield "!"
    yield f"router bgp {router.asn}"
    yield f"   router-id {router.loopback}"
    yield f"   maximum-paths {intent.num_ways} ecmp {intent.num_ways}"
    yield "   bgp bestpath as-path multipath-relax"
    yield f"   timers bgp {timers.KEEPALIVE_S} {timers.HOLD_S}"
    yield "   neighbor FABRIC peer group"
    yield "   neighbor FABRIC bfd"
    yield (
        f"   neighbor FABRIC bfd interval {timers.BFD_MS} min-rx {timers.BFD_MS} "
        f"multiplier {timers.BFD_MULTIPLIER}"
    )
    yield f"   neighbor FABRIC timers {timers.KEEPALIVE_S} {timers.HOLD_S}"
    yield f"   neighbor FABRIC out-delay {timers.ADVERTISE_S}"
    yield from _neighbours(intent, number)
    has_tenants = intent.overlay(number) is not None
    if has_tenants:
        yield from _tunnel_sessions(intent, number)
    yield "   !"
    yield "   address-family ipv4"
    if has_tenants:
        yield "      no neighbor TUNNELS activate"
    yield "      neighbor FABRIC activate"
    yield "      neighbor FABRIC next-hop address-family ipv6 originate"
    for network in (f"{router.loopback}/32", *router.networks):
        yield f"      network {network}"
    for vrf in _vrfs(intent, number):
        yield from _tenant(router, vrf)
    yield "!"


def _tunnel_sessions(intent: Intent, number: int) -> Iterator[str]:
    """Yield sessions between loopbacks for the routes of tenants, one for each neighbour."""
    yield "   neighbor TUNNELS peer group"
    yield "   neighbor TUNNELS next-hop-unchanged"
    yield "   neighbor TUNNELS update-source Loopback0"
    yield "   neighbor TUNNELS ebgp-multihop 3"
    yield "   neighbor TUNNELS bfd"
    yield "   neighbor TUNNELS send-community extended"
    yield "   neighbor TUNNELS maximum-routes 0"
    ends = (peer_of(cable, number)[1] for cable in intent.site.cables_of[number])
    switches = dict.fromkeys(end.device for end in ends if not intent.site.is_host(end))
    for router in map(intent.router, switches):
        yield f"   neighbor {router.loopback} peer group TUNNELS"
        yield f"   neighbor {router.loopback} remote-as {router.asn}"
    yield "   !"
    yield "   address-family evpn"
    yield "      neighbor TUNNELS activate"


def _tenant(router: BgpRouter, vrf: Vrf) -> Iterator[str]:
    yield "   !"
    yield f"   vrf {vrf.name}"
    yield f"      rd {router.loopback}:{vrf.vni}"
    yield f"      route-target import evpn {vrf.target}"
    yield f"      route-target export evpn {vrf.target}"
    yield f"      router-id {router.loopback}"
    for link in vrf.links:
        yield f"      network {link.switch_address.network}"


def _neighbours(intent: Intent, number: int) -> Iterator[str]:
    """Yield a session for each link; EOS wants the number of the other system there."""
    for cable in intent.site.cables_of[number]:
        own, peer = peer_of(cable, number)
        if not intent.site.is_host(peer):
            asn = intent.router(peer.device).asn
            name = port_name(intent.site, own)
            yield f"   neighbor interface {name} peer-group FABRIC remote-as {asn}"
