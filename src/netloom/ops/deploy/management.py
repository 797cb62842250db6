"""Management addresses of switches, in the order of the plant."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import TYPE_CHECKING

from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

__all__ = ["management_address"]


def management_address(intent: Intent, number: int) -> IPv4Interface | None:
    """Return the management address of switch *number* of the plant; None where none is asked for.

    Raises:
        SpecError: the network is too small, or the gateway lies where switches get theirs.
    """
    asked = intent.site.scenario.site.management
    if asked is None:
        return None
    network = IPv4Network(asked.network)
    address = network.network_address + asked.first + number - len(intent.site.nics)
    if address not in network or address == network.broadcast_address:
        num_switches = len(intent.site.plant.devices) - len(intent.site.nics)
        raise SpecError(
            key="site.management.network",
            what=f"{network} has no room for {num_switches:,} switches from number {asked.first}",
            remedy="give a larger one",
        )
    if address == IPv4Address(asked.gateway):
        raise SpecError(
            key="site.management.gateway",
            what=f"{address} is also that of {intent.site.hostnames[number]}",
            remedy="raise 'first' beyond the gateway",
        )
    return IPv4Interface(f"{address}/{network.prefixlen}")
