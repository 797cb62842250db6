"""Tenants of a switch that runs Linux and FRR: VRF devices, tunnels and ports, as a script.

The script makes with VRF devices what a lab's switch has as namespaces, from the same numbers.
It can be run again; frr.conf is read after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.overlay import VXLAN_BYTES
from netloom.ops.deploy.quality import MTU_BYTES
from netloom.ops.underlay import interface_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Address

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.overlay import Vrf

__all__ = ["vrf_commands"]

FIRST_TABLE: Final = 1001  # of routes, one for each VRF; the kernel's own are 253 to 255


def vrf_commands(intent: Intent, number: int) -> str:
    """Return the script of switch *number* of the plant; empty where there is nothing to do."""
    overlay = intent.overlay(number)
    if overlay is None or not (overlay.vrfs or overlay.shut):
        return ""
    lines = ["#!/bin/sh", "set -eu"]
    for place, vrf in enumerate(overlay.vrfs):
        lines += [*_vrf(intent, number, vrf, FIRST_TABLE + place)]
    for link in overlay.shut:
        name = interface_name(intent.site.plant, link.switch_port)
        lines += [f"ip address flush dev {name}", f"ip link set {name} down"]
    return "".join(f"{line}\n" for line in lines)


def _vrf(intent: Intent, number: int, vrf: Vrf, table: int) -> Iterator[str]:
    loopback = intent.router(number).loopback
    yield f"ip link show {vrf.name} >/dev/null 2>&1 \\"
    yield f"  || ip link add {vrf.name} type vrf table {table}"
    yield f"ip link set {vrf.name} up"
    yield from _tunnel(vrf, loopback)
    for leaf in intent.leaves(vrf.tenant):
        if leaf != number:
            peer = f"dst {intent.router(leaf).loopback} self permanent"
            everybody = f"00:00:00:00:00:00 dev vx{vrf.vni} {peer}"
            yield f"bridge fdb append {everybody}"
    for link in vrf.links:
        name = interface_name(intent.site.plant, link.switch_port)
        yield f"ip link set {name} master {vrf.name} mtu {MTU_BYTES} up"
        yield f"ip address replace {link.switch_address} dev {name}"


def _tunnel(vrf: Vrf, loopback: IPv4Address) -> Iterator[str]:
    """Yield a tunnel that keeps the class of packets and the marks on them.

    The bridge has the address of the tunnel's end, and what is for everybody goes to all leaves
    of the tenant, so that leaves find one another's MAC address also when zebra forgot it, as
    8.4.4 does when a route changes.
    """
    bridge, tunnel, mtu = f"br{vrf.vni}", f"vx{vrf.vni}", MTU_BYTES - VXLAN_BYTES
    mac = ":".join(f"{byte:02x}" for byte in (0x02, 0x6E, *loopback.packed))
    yield f"ip link del {tunnel} 2>/dev/null || true"
    yield f"ip link del {bridge} 2>/dev/null || true"
    yield f"ip link add {bridge} address {mac} mtu {mtu} type bridge stp_state 0"
    yield f"ip link set {bridge} master {vrf.name} addrgenmode none up"
    yield f"ip address add {loopback}/32 dev {bridge}"
    ends = f"id {vrf.vni} local {loopback} dstport 4789"
    yield f"ip link add {tunnel} mtu {mtu} type vxlan {ends} tos inherit ttl 64"
    yield f"ip link set {tunnel} master {bridge} addrgenmode none up"
