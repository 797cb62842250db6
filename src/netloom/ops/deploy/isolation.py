"""Whether the files of switches keep tenants apart: each against what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.rules import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.overlay import Vrf

__all__ = ["SwitchPorts", "SwitchRoutes", "VrfRoutes", "check_ports", "check_routes"]

MAX_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class VrfRoutes:
    """A VRF as a switch's file has it.

    Attributes:
        vni: None where it has no tunnel.
        networks: What it announces.
        imports: Targets of routes that it takes in.
        exports: Targets that its own routes carry.
    """

    vni: int | None
    networks: frozenset[str]
    imports: frozenset[str]
    exports: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchRoutes:
    """The routing of a switch as its file has it.

    Attributes:
        networks: What it announces in its own VRF.
        vrfs: By name.
    """

    where: str
    networks: frozenset[str]
    vrfs: Mapping[str, VrfRoutes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPorts:
    """The hosts' ports of a switch as its file has them.

    Attributes:
        vrf_of: The VRF of each address, empty in the switch's own.
        vnis: Of each VRF.
        up: Ports that are on, by name.
    """

    where: str
    vrf_of: Mapping[str, str]
    vnis: Mapping[str, int]
    up: frozenset[str]


def check_routes(intent: Intent, number: int, found: SwitchRoutes) -> Iterator[Broken]:
    """Yield how the routing of switch *number* differs from what keeps tenants apart."""
    overlay = intent.overlay(number)
    assert overlay is not None
    wanted = {vrf.name: vrf for vrf in overlay.vrfs}
    own = found.networks - {f"{intent.router(number).loopback}/32"}
    if own:
        what = f"announces {_named(own)} outside of every VRF: all tenants reach it"
        yield _error(found.where, what, "announce hosts in their tenant's VRF")
    for name in sorted(found.vrfs.keys() | wanted.keys()):
        where = f"{found.where}: {name}"
        if name not in wanted:
            yield _error(where, "is no tenant's here", "remove the VRF")
        elif name not in found.vrfs:
            yield _error(where, "is missing", "render the file again")
        else:
            yield from _check_vrf(where, wanted[name], found.vrfs[name])


def _check_vrf(where: str, vrf: Vrf, found: VrfRoutes) -> Iterator[Broken]:
    if found.vni != vrf.vni:
        yield _error(where, f"has VNI {found.vni}, its tenant {vrf.vni}", "give it the tenant's")
    networks = {str(link.switch_address.network) for link in vrf.links}
    if found.networks != networks:
        both = found.networks ^ networks
        yield _error(where, f"announces not its own hosts: {_named(both)}", "render the file again")
    for verb, targets in (("takes in", found.imports), ("gives out", found.exports)):
        if targets != {vrf.target}:
            what = f"{verb} routes of {_named(targets) or 'none'}, its tenant's are {vrf.target}"
            yield _error(where, what, "give it the target of its tenant alone")


def check_ports(
    intent: Intent, number: int, found: SwitchPorts, names: Mapping[int, str]
) -> Iterator[Broken]:
    """Yield hosts of switch *number* that are in a VRF not theirs, and ports on that shall be off.

    Args:
        intent: What was asked for.
        number: Of the switch.
        found: Its ports.
        names: What the switch calls the port of each of its hosts.
    """
    overlay = intent.overlay(number)
    assert overlay is not None
    for vrf in overlay.vrfs:
        if found.vnis.get(vrf.name) != vrf.vni:
            what = f"has VNI {found.vnis.get(vrf.name)}, its tenant {vrf.vni}"
            yield _error(f"{found.where}: {vrf.name}", what, "give it the tenant's")
        for link in vrf.links:
            held = found.vrf_of.get(str(link.switch_address))
            if held != vrf.name:
                what = f"{link.switch_address} is in {held or 'no VRF'}, its tenant's is {vrf.name}"
                yield _error(found.where, what, "put the port into its tenant's VRF")
    for link in overlay.shut:
        if names[link.host] in found.up:
            what = f"{names[link.host]} is on, and its host is no tenant's"
            yield _error(found.where, what, "switch it off")


def _named(some: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(some)[:MAX_NAMED])


def _error(where: str, what: str, remedy: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy=remedy)
