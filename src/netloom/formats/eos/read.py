"""What an EOS configuration says of tenants."""

from __future__ import annotations

import re
from typing import Final

from netloom.ops.deploy.isolation import SwitchPorts, SwitchRoutes, VrfRoutes

__all__ = ["read_hosts", "read_routes"]

_PORT: Final = re.compile(r"^interface (Ethernet\S{1,20})\n((?: .*\n)*)", re.ASCII | re.MULTILINE)
_VNI: Final = re.compile(r"^ +vxlan vrf (\S{1,64}) vni (\d{1,8})$", re.ASCII | re.MULTILINE)
_BGP: Final = re.compile(r"^router bgp \d{1,10}\n((?: .*\n)*)", re.ASCII | re.MULTILINE)
_VRF: Final = re.compile(r"^   vrf (\S{1,64})\n((?:      .*\n)*)", re.ASCII | re.MULTILINE)
_NETWORK: Final = re.compile(r"^ +network (\S{1,50})$", re.ASCII | re.MULTILINE)
_TARGET: Final = re.compile(
    r"^ +route-target (import|export) evpn (\S{1,50})$", re.ASCII | re.MULTILINE
)


def read_hosts(text: str, where: str) -> SwitchPorts:
    """Return where an EOS configuration puts ports with addresses."""
    vrf_of, up = {}, set()
    for name, body in _PORT.findall(text):
        lines = [line.strip() for line in body.splitlines()]
        vrf = next((line.split()[1] for line in lines if line.startswith("vrf ")), "")
        for line in lines:
            if line.startswith("ip address "):
                vrf_of[line.split()[2]] = vrf
        if "shutdown" not in lines:
            up.add(name)
    vnis = {name: int(vni) for name, vni in _VNI.findall(text)}
    return SwitchPorts(where=where, vrf_of=vrf_of, vnis=vnis, up=frozenset(up))


def read_routes(text: str, where: str) -> SwitchRoutes:
    """Return what an EOS configuration announces and takes in, VRF by VRF."""
    vnis = {name: int(vni) for name, vni in _VNI.findall(text)}
    body = "".join(_BGP.findall(text))
    vrfs = {}
    for name, inside in _VRF.findall(body):
        targets = _TARGET.findall(inside)
        vrfs[name] = VrfRoutes(
            vni=vnis.get(name),
            networks=frozenset(_NETWORK.findall(inside)),
            imports=frozenset(target for verb, target in targets if verb == "import"),
            exports=frozenset(target for verb, target in targets if verb == "export"),
        )
    own = _VRF.sub("", body)
    return SwitchRoutes(where=where, networks=frozenset(_NETWORK.findall(own)), vrfs=vrfs)
