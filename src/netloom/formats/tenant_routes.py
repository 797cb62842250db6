"""What the texts for EOS and NVUE say of tenants, whoever wrote them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes, VrfRoutes

__all__ = ["eos_hosts", "eos_routes", "nvue_hosts", "nvue_routes"]

_EOS_PORT: Final = re.compile(
    r"^interface (Ethernet\S{1,20})\n((?: .*\n)*)", re.ASCII | re.MULTILINE
)
_EOS_VNI: Final = re.compile(r"^ +vxlan vrf (\S{1,64}) vni (\d{1,8})$", re.ASCII | re.MULTILINE)
_EOS_BGP: Final = re.compile(r"^router bgp \d{1,10}\n((?: .*\n)*)", re.ASCII | re.MULTILINE)
_EOS_VRF: Final = re.compile(r"^   vrf (\S{1,64})\n((?:      .*\n)*)", re.ASCII | re.MULTILINE)
_NETWORK: Final = re.compile(r"^ +network (\S{1,50})$", re.ASCII | re.MULTILINE)
_EOS_TARGET: Final = re.compile(
    r"^ +route-target (import|export) evpn (\S{1,50})$", re.ASCII | re.MULTILINE
)
_NVUE: Final = re.compile(r"^nv set (.{1,200})$", re.ASCII | re.MULTILINE)


def eos_hosts(text: str, where: str) -> SwitchPorts:
    """Return where an EOS configuration puts ports with addresses."""
    vrf_of, up = {}, set()
    for name, body in _EOS_PORT.findall(text):
        lines = [line.strip() for line in body.splitlines()]
        vrf = next((line.split()[1] for line in lines if line.startswith("vrf ")), "")
        for line in lines:
            if line.startswith("ip address "):
                vrf_of[line.split()[2]] = vrf
        if "shutdown" not in lines:
            up.add(name)
    vnis = {name: int(vni) for name, vni in _EOS_VNI.findall(text)}
    return SwitchPorts(where=where, vrf_of=vrf_of, vnis=vnis, up=frozenset(up))


def eos_routes(text: str, where: str) -> SwitchRoutes:
    """Return what an EOS configuration announces and takes in, VRF by VRF."""
    vnis = {name: int(vni) for name, vni in _EOS_VNI.findall(text)}
    body = "".join(_EOS_BGP.findall(text))
    vrfs = {}
    for name, inside in _EOS_VRF.findall(body):
        targets = _EOS_TARGET.findall(inside)
        vrfs[name] = VrfRoutes(
            vni=vnis.get(name),
            networks=frozenset(_NETWORK.findall(inside)),
            imports=frozenset(target for verb, target in targets if verb == "import"),
            exports=frozenset(target for verb, target in targets if verb == "export"),
        )
    own = _EOS_VRF.sub("", body)
    return SwitchRoutes(where=where, networks=frozenset(_NETWORK.findall(own)), vrfs=vrfs)


def _commands(text: str) -> list[list[str]]:
    return [line.split() for line in _NVUE.findall(text)]


def nvue_hosts(text: str, where: str) -> SwitchPorts:
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


def nvue_routes(text: str, where: str) -> SwitchRoutes:
    """Return what NVUE commands let a switch announce and take in, VRF by VRF."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    vnis = nvue_hosts(text, where).vnis
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
