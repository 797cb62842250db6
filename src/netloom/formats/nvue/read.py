"""What NVUE commands say of tenants."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes, VrfRoutes

__all__ = ["read_hosts", "read_routes"]

_SET: Final = re.compile(r"^nv set (.{1,200})$", re.ASCII | re.MULTILINE)


def _commands(text: str) -> list[list[str]]:
    return [line.split() for line in _SET.findall(text)]


def read_hosts(text: str, where: str) -> SwitchPorts:
    """Return where NVUE commands put ports with addresses."""
    vrf_of_port: dict[str, str] = {}
    ports: dict[str, str] = {}
    names, down, vnis = set(), set(), {}
    for words in _commands(text):
        match words:
            case ["interface", name, "ip", "vrf", vrf]:
                vrf_of_port[name] = vrf
            case ["interface", name, "ip", "address", address]:
                ports[address] = name
            case ["interface", name, "link", "state", "down"]:
                down.add(name)
            case ["interface", name, *_]:
                names.add(name)
            case ["vrf", vrf, "evpn", "vni", vni] if vni.isdigit():
                vnis[vrf] = int(vni)
    vrf_of = {address: vrf_of_port.get(name, "") for address, name in ports.items()}
    return SwitchPorts(where=where, vrf_of=vrf_of, vnis=vnis, up=frozenset(names - down))


def read_routes(text: str, where: str) -> SwitchRoutes:
    """Return what NVUE commands let a switch announce and take in, VRF by VRF."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    vnis = read_hosts(text, where).vnis
    names = set()
    for words in _commands(text):
        match words:
            case ["vrf", vrf, "router", "bgp", *rest]:
                names.add(vrf)
                match rest:
                    case ["address-family", "ipv4-unicast", "network", network]:
                        found[vrf, "network"].add(network)
                    case ["route-import", "from-evpn", "route-target", target]:
                        found[vrf, "import"].add(target)
                    case ["route-export", "to-evpn", "route-target", target]:
                        found[vrf, "export"].add(target)
                    case _:
                        pass
            case _:
                pass
    return SwitchRoutes(
        where=where,
        networks=frozenset(found["default", "network"]),
        vrfs={
            name: VrfRoutes(
                vni=vnis.get(name),
                networks=frozenset(found[name, "network"]),
                imports=frozenset(found[name, "import"]),
                exports=frozenset(found[name, "export"]),
            )
            for name in sorted(names - {"default"})
        },
    )
