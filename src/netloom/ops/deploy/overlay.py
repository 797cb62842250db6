"""Tenants on Ethernet: which VRF each host's port is in, and the numbers by which VRFs meet.

Every leaf has a VRF for each tenant with hosts on it; leaves tell one another its prefixes as
EVPN routes of type 5 (RFC 9136) and carry its packets in VXLAN under the tenant's own VNI, so
that spines know of no tenant. No host is left in the leaf's own VRF: who reaches a tunnel's
end there could write any VNI into a packet.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.partitions import Partition
    from netloom.ops.underlay import HostLink, Underlay

__all__ = ["VXLAN_BYTES", "Overlay", "Vrf", "overlays_of", "vrf_name"]

FIRST_VNI: Final = 10_000  # a tenant's is this plus its key, so below 2^24 for every key
TARGET_ASN: Final = 64_512  # private use (RFC 6996); targets are the tenant's, not a switch's
MAX_NAME: Final = 15  # of an interface in Linux, which a VRF is
VXLAN_BYTES: Final = 50  # outer Ethernet 14, IPv4 20, UDP 8, VXLAN 8 (RFC 7348, section 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vrf:
    """A tenant on one switch.

    Attributes:
        name: On every kind of switch.
        tenant: Whose it is.
        key: 1 to 0x7FFE, the tenant's alone.
        links: Its hosts on this switch.
    """

    name: str
    tenant: str
    key: int
    links: tuple[HostLink, ...]

    @property
    def vni(self) -> int:
        """The number that its packets carry between switches."""
        return FIRST_VNI + self.key

    @property
    def target(self) -> str:
        """The route target that its routes carry and that it takes in."""
        return f"{TARGET_ASN}:{self.vni}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The tenants of one switch.

    Attributes:
        vrfs: In the order of tenants; none on a switch without hosts.
        shut: Hosts of no tenant, whose ports are off.
    """

    vrfs: tuple[Vrf, ...] = ()
    shut: tuple[HostLink, ...] = ()


def vrf_name(tenant: Partition) -> str:
    """Return the VRF of a tenant: SONiC wants the first three letters, Linux at most 15.

    A longer name gives way to the key; a tenant's name never begins with a digit.
    """
    name = f"Vrf{tenant.name}"
    return name if len(name) <= MAX_NAME else f"Vrf{tenant.key}"


def overlays_of(underlay: Underlay, tenants: Sequence[Partition]) -> dict[int, Overlay]:
    """Return the overlay of every switch, by its place in the plant; none without tenants."""
    if not tenants:
        return {}
    owner = {host: index for index, tenant in enumerate(tenants) for host in tenant.hosts}
    links: dict[int, dict[int, list[HostLink]]] = defaultdict(lambda: defaultdict(list))
    for link in underlay.host_links:
        links[link.switch_port.device][owner.get(link.host, -1)].append(link)
    return {
        router.device: Overlay(
            vrfs=tuple(
                _vrf(tenants[index], found)
                for index, found in sorted(links[router.device].items())
                if index >= 0
            ),
            shut=tuple(links[router.device][-1]),
        )
        for router in underlay.routers
    }


def _vrf(tenant: Partition, links: list[HostLink]) -> Vrf:
    return Vrf(name=vrf_name(tenant), tenant=tenant.name, key=tenant.key, links=tuple(links))
