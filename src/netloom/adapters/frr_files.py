"""FRR's own file, frr.conf: the routing of a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.ops.underlay import Router

__all__ = ["render_configuration"]

BFD_MS: Final = 300  # below some 150 ms a busy machine misses its own deadlines
LEAST_WAYS: Final = 64  # equal ways that are allowed even where there are fewer


def render_configuration(router: Router, *, hostname: str = "", has_loopback: bool = True) -> str:
    """Return frr.conf of a switch: eBGP over unnumbered links, ECMP over all of them, BFD.

    Args:
        router: The switch.
        hostname: Its name; what the fabric calls it without.
        has_loopback: Whether FRR gives ``lo`` the address; SONiC does that by itself.
    """
    name = hostname or router.name.replace(":", "-")
    loopback = ["interface lo", f" ip address {router.loopback}/32", "exit"] if has_loopback else []
    return "\n".join([*_zebra(router, name, loopback), *_bgp(router), *_bfd(), ""])


def _zebra(router: Router, name: str, loopback: list[str]) -> list[str]:
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


def _bgp(router: Router) -> list[str]:
    return [
        f"router bgp {router.asn}",
        f" bgp router-id {router.loopback}",
        " bgp bestpath as-path multipath-relax",
        " timers bgp 1 3",
        " neighbor fabric peer-group",
        " neighbor fabric remote-as external",
        " neighbor fabric advertisement-interval 0",
        " neighbor fabric timers connect 1",
        " neighbor fabric bfd",
        " neighbor fabric bfd profile fabric",
        *(f" neighbor {peer} interface peer-group fabric" for peer in router.peers),
        " address-family ipv4 unicast",
        f"  network {router.loopback}/32",
        *(f"  network {network}" for network in router.networks),
        f"  maximum-paths {max(LEAST_WAYS, len(router.peers))}",
        " exit-address-family",
        "exit",
    ]


def _bfd() -> list[str]:
    return [
        "bfd",
        " profile fabric",
        f"  transmit-interval {BFD_MS}",
        f"  receive-interval {BFD_MS}",
        "  detect-multiplier 3",
        " exit",
        "exit",
    ]
