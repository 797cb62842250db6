"""Whether the tenants of a lab are apart: what the kernel forwards, VRF by VRF."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.app.deploy.lab_targets import vrfs_of
from netloom.drivers.programs import wait_for
from netloom.errors import LabError
from netloom.ops.deploy.rules import Broken
from netloom.ops.underlay import expected_ways

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.app.deploy.lab_vrfs import LabVrfs
    from netloom.app.lab.store import LabFolder
    from netloom.ops.deploy.intent import Intent

__all__ = ["SETTLE_S", "check_isolation"]

SETTLE_S: Final = 20.0  # routes of tenants follow sessions, which come back within some 3 s
MAX_NAMED: Final = 5

Wanted = tuple[str, "LabVrfs", dict[str, frozenset[str]]]


def check_isolation(
    place: LabFolder, intent: Intent, *, settle_s: float = SETTLE_S
) -> tuple[Broken, ...]:
    """Return every VRF of a lab that forwards to hosts not its tenant's, or not to all that are.

    Args:
        place: Of the lab; one of InfiniBand has no VRFs.
        intent: What was applied.
        settle_s: How long routes may take to come.
    """
    if intent.underlay is None or not intent.partitions:
        return ()
    switches = tuple(_switches(place, intent))

    def settled() -> bool | None:
        return True if not any(_findings(switches)) else None

    wait_for(settled, timeout_s=settle_s, step_s=0.3)
    return tuple(_findings(switches))


def _switches(place: LabFolder, intent: Intent) -> Iterator[Wanted]:
    """Yield each switch with what its VRFs shall reach."""
    assert intent.underlay is not None
    lab, plant = place.read(), intent.site.plant
    networks = {
        tenant.name: {str(intent.host_link(host).switch_address.network) for host in tenant.hosts}
        for tenant in intent.partitions
    }
    reachable = expected_ways(plant, intent.underlay)
    for number, ways in reachable.items():
        overlay = intent.overlay(number)
        assert overlay is not None
        if overlay.vrfs:
            wanted = {vrf.name: frozenset(networks[vrf.tenant] & set(ways)) for vrf in overlay.vrfs}
            yield intent.site.hostnames[number], vrfs_of(place, lab, intent, number), wanted


def _findings(switches: tuple[Wanted, ...]) -> Iterator[Broken]:
    for name, vrfs, wanted in switches:
        for vrf, networks in wanted.items():
            where = f"{name}: {vrf}"
            try:
                held = {route.prefix for route in vrfs.routes(vrf) if route.interfaces}
            except LabError as error:
                yield Broken(severity="error", where=where, what=str(error), remedy="apply again")
                continue
            yield from map(partial(_broken, where), _differences(held, networks))


def _differences(held: set[str], wanted: frozenset[str]) -> Iterator[tuple[str, str]]:
    foreign, missing = sorted(held - wanted), sorted(wanted - held)
    if foreign:
        named = ", ".join(foreign[:MAX_NAMED])
        yield f"forwards to {named}, not its tenant's", "see its route targets, and apply again"
    if missing:
        named = ", ".join(missing[:MAX_NAMED])
        remedy = "see 'show bgp l2vpn evpn' there and on the leaf that has them"
        yield f"has no way to {len(missing)} of its tenant's prefixes: {named}", remedy


def _broken(where: str, found: tuple[str, str]) -> Broken:
    return Broken(severity="error", where=where, what=found[0], remedy=found[1])
