"""Whether the files of switches, for every system they are written for, keep tenants apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import NetloomError
from netloom.ops.deploy.isolation import check_ports, check_routes
from netloom.ops.deploy.rules import Broken
from netloom.ops.site import peer_of
from netloom.ops.switch_systems import files_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.site import Site
    from netloom.ops.switch_systems import SwitchFile, SwitchOs

__all__ = ["check_tenants"]


def check_tenants(intent: Intent, files: Mapping[str, str]) -> Iterator[Broken]:
    """Yield what the files of switches do not keep apart; a file that is not there is left out."""
    site = intent.site
    for number in range(len(site.nics), len(site.plant.devices)):
        for system, file, path in files_of(intent, number):
            if path in files:
                yield from _check(intent, number, system, file, (files[path], path))


def _check(
    intent: Intent, number: int, system: SwitchOs, file: SwitchFile, found: tuple[str, str]
) -> Iterator[Broken]:
    """Yield what one file does not keep apart; *found* is its text and its path."""
    if file.read_routes is not None:
        yield from check_routes(intent, number, file.read_routes(*found))
    if file.read_hosts is None:
        return
    try:
        hosts = file.read_hosts(*found)
    except NetloomError as error:
        remedy = "render it again"
        yield Broken(severity="error", where=found[1], what=str(error), remedy=remedy)
        return
    yield from check_ports(intent, number, hosts, _names(intent.site, number, system))


def _names(site: Site, number: int, system: SwitchOs) -> dict[int, str]:
    """Return what a switch calls the port of each of its hosts."""
    ends = (peer_of(cable, number) for cable in site.cables_of[number])
    return {peer.device: system.port_name(site, own) for own, peer in ends if site.is_host(peer)}
