"""FRR's own file, frr.conf: the routing of a switch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy import timers
from netloom.ops.deploy.isolation import SwitchRoutes, VrfRoutes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.overlay import Overlay, Vrf
    from netloom.ops.underlay import BgpRouter

__all__ = ["namespace_line", "read_routes", "render_configuration"]

MIN_WAYS: Final = 64  # equal ways that are allowed even where there are fewer
MAX_WAYS: Final = 256  # what Debian's FRR 8.4.4 takes (vtysh -C)
_VNI: Final = re.compile(r"^vrf (\S{1,64})\n vni (\d{1,8})$", re.ASCII | re.MULTILINE)
_BLOCK: Final = re.compile(
    r"^router bgp \d{1,10}(?: vrf (\S{1,64}))?\n((?:[ !].*\n)*)", re.ASCII | re.MULTILINE
)
_NETWORK: Final = re.compile(r"^ +network (\S{1,50})$", re.ASCII | re.MULTILINE)
_TARGET: Final = re.compile(
    r"^ +route-target (import|export|both) (\S{1,50})$", re.ASCII | re.MULTILINE
)


def render_configuration(
    router: BgpRouter,
    *,
    hostname: str = "",
    has_loopback: bool = True,
    overlay: Overlay | None = None,
    has_namespaces: bool = False,
) -> str:
    """Return frr.conf of a switch: eBGP over unnumbered links, ECMP over all of them, BFD.

    Args:
        router: The switch.
        hostname: Its name; default: what the fabric calls it.
        has_loopback: Whether FRR gives ``lo`` the address; SONiC does that by itself.
        overlay: Its tenants, where there are any on the network.
        has_namespaces: Whether VRFs are namespaces instead of devices, as zebra ``-n`` has them.
    """
    name = hostname or router.name.replace(":", "-")
    loopback = ["interface lo", f" ip address {router.loopback}/32", "exit"] if has_loopback else []
    vrfs = () if overlay is None else overlay.vrfs
    lines = [
        *_zebra(router, name, loopback),
        *(line for vrf in vrfs for line in _tunnel(vrf, has_namespaces=has_namespaces)),
        *_bgp(router, overlay),
        *(line for vrf in vrfs for line in _tenant(router, vrf)),
        *_bfd(),
        "",
    ]
    return "\n".join(lines)


def namespace_line(vrf: str) -> str:
    """Return what FRR says in a VRF that is a namespace of its own."""
    return f" netns /run/netns/{vrf}"


def _tunnel(vrf: Vrf, *, has_namespaces: bool) -> Iterator[str]:
    yield f"vrf {vrf.name}"
    yield f" vni {vrf.vni}"
    if has_namespaces:
        yield namespace_line(vrf.name)
    yield "exit-vrf"


def _tenant(router: BgpRouter, vrf: Vrf) -> Iterator[str]:
    """Yield the routing of a VRF: it announces its hosts, and takes in what has its target.

    Targets for import and export stand apart: bgpd 8.4.4 keeps one copy for ``both``, and frees
    it twice when the VRF goes.
    """
    yield f"router bgp {router.asn} vrf {vrf.name}"
    yield f" bgp router-id {router.loopback}"
    yield " address-family ipv4 unicast"
    for link in vrf.links:
        yield f"  network {link.switch_address.network}"
    yield " exit-address-family"
    yield " address-family l2vpn evpn"
    yield "  advertise ipv4 unicast"
    yield f"  rd {router.loopback}:{vrf.vni}"
    yield f"  route-target import {vrf.target}"
    yield f"  route-target export {vrf.target}"
    yield " exit-address-family"
    yield "exit"


def _evpn(overlay: Overlay | None) -> Iterator[str]:
    """Yield the address family of tunnels; spines pass on what leaves say, next hops unchanged."""
    if overlay is not None:
        yield " address-family l2vpn evpn"
        yield "  neighbor fabric activate"
        if overlay.vrfs:
            yield "  advertise-all-vni"
        yield " exit-address-family"


def _zebra(router: BgpRouter, name: str, loopback: list[str]) -> list[str]:
    lines = [
        f"hostname {name}",
        "frr defaults datacenter",
        # With nexthop objects FRR 8.4 loses paths from the kernel after a link flap while its own
        # table still has them.
        "no zebra nexthop kernel enable",
        *loopback,
    ]
    for peer in router.peers:
        # Unnumbered neighbours find one another by router advertisements; the default interval
        # delays that by minutes.
        lines += [f"interface {peer}", " no ipv6 nd suppress-ra", " ipv6 nd ra-interval 1", "exit"]
    return lines


def _bgp(router: BgpRouter, overlay: Overlay | None) -> list[str]:
    return [
        f"router bgp {router.asn}",
        f" bgp router-id {router.loopback}",
        " bgp bestpath as-path multipath-relax",
        f" timers bgp {timers.KEEPALIVE_S} {timers.HOLD_S}",
        " neighbor fabric peer-group",
        " neighbor fabric remote-as external",
        f" neighbor fabric advertisement-interval {timers.ADVERTISE_S}",
        f" neighbor fabric timers connect {timers.CONNECT_S}",
        " neighbor fabric bfd",
        " neighbor fabric bfd profile fabric",
        *(f" neighbor {peer} interface peer-group fabric" for peer in router.peers),
        " address-family ipv4 unicast",
        f"  network {router.loopback}/32",
        *(f"  network {network}" for network in router.networks),
        f"  maximum-paths {min(MAX_WAYS, max(MIN_WAYS, len(router.peers)))}",
        " exit-address-family",
        *_evpn(overlay),
        "exit",
    ]


def _bfd() -> list[str]:
    return [
        "bfd",
        " profile fabric",
        f"  transmit-interval {timers.BFD_MS}",
        f"  receive-interval {timers.BFD_MS}",
        f"  detect-multiplier {timers.BFD_MULTIPLIER}",
        " exit",
        "exit",
    ]


def read_routes(text: str, where: str) -> SwitchRoutes:
    """Return what a frr.conf announces and takes in, VRF by VRF."""
    vnis = {name: int(vni) for name, vni in _VNI.findall(text)}
    blocks = _BLOCK.findall(text)
    return SwitchRoutes(
        where=where,
        networks=frozenset(n for name, body in blocks if not name for n in _NETWORK.findall(body)),
        vrfs={name: _routes(vnis.get(name), body) for name, body in blocks if name},
    )


def _routes(vni: int | None, body: str) -> VrfRoutes:
    targets = _TARGET.findall(body)
    return VrfRoutes(
        vni=vni,
        networks=frozenset(_NETWORK.findall(body)),
        imports=frozenset(target for verb, target in targets if verb != "export"),
        exports=frozenset(target for verb, target in targets if verb != "import"),
    )
