"""All that a deployment decides, before it is written in any device's language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from netloom.ops.deploy.overlay import overlays_of
from netloom.ops.deploy.partitions import partitions_of
from netloom.ops.deploy.quality import quality_of
from netloom.ops.site import site_of
from netloom.ops.underlay import underlay_of

if TYPE_CHECKING:
    from netloom.ops.deploy.overlay import Overlay, Vrf
    from netloom.ops.deploy.partitions import Partition
    from netloom.ops.deploy.quality import Quality
    from netloom.ops.site import Site
    from netloom.ops.underlay import BgpRouter, HostLink, Underlay
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario

__all__ = ["Intent", "intent_of"]

MIN_WAYS: Final = 64  # what routers are allowed even where there are fewer


@dataclass(frozen=True, kw_only=True, eq=False)
class Intent:
    """A site and how it is set up.

    Attributes:
        underlay: Addresses and routing; None on InfiniBand, whose subnet manager decides those.
        quality: What keeps Ethernet lossless; None on InfiniBand and on networks that may lose.
        partitions: One for each tenant.
    """

    site: Site
    underlay: Underlay | None
    quality: Quality | None
    partitions: tuple[Partition, ...]

    def router(self, number: int) -> BgpRouter:
        """Return switch *number* of the plant as routing sees it.

        With tenants it announces no hosts: those are their VRFs' to announce.
        """
        return self._routers[number]

    @cached_property
    def _routers(self) -> dict[int, BgpRouter]:
        assert self.underlay is not None
        found = {router.device: router for router in self.underlay.routers}
        for device in self._overlays:
            found[device] = replace(found[device], networks=())
        return found

    def overlay(self, number: int) -> Overlay | None:
        """Return the tenants of switch *number* of the plant; None where there are none at all."""
        return self._overlays.get(number)

    @cached_property
    def _overlays(self) -> dict[int, Overlay]:
        assert self.underlay is not None
        return overlays_of(self.underlay, self.partitions)

    def vrf(self, host: int) -> Vrf | None:
        """Return the VRF that a NIC port is in; None for one of no tenant."""
        return self._vrfs.get(host)

    @cached_property
    def _vrfs(self) -> dict[int, Vrf]:
        every = (vrf for overlay in self._overlays.values() for vrf in overlay.vrfs)
        return {link.host: vrf for vrf in every for link in vrf.links}

    def leaves(self, tenant: str) -> tuple[int, ...]:
        """Return the switches that have a VRF of a tenant."""
        return self._leaves[tenant]

    @cached_property
    def _leaves(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {tenant.name: [] for tenant in self.partitions}
        for number, overlay in self._overlays.items():
            for vrf in overlay.vrfs:
                found[vrf.tenant].append(number)
        return {tenant: tuple(numbers) for tenant, numbers in found.items()}

    def is_shut(self, host: int) -> bool:
        """Return whether a NIC port's switch port is off: there are tenants, and it is none's."""
        return bool(self._overlays) and host not in self._vrfs

    @cached_property
    def num_ways(self) -> int:
        """The most equal ways that a switch has to choose from."""
        assert self.underlay is not None
        return max(MIN_WAYS, *(len(router.peers) for router in self.underlay.routers))

    def host_link(self, host: int) -> HostLink:
        """Return the addresses between a NIC port and its leaf."""
        return self._host_links[host]

    @cached_property
    def _host_links(self) -> dict[int, HostLink]:
        assert self.underlay is not None
        return {link.host: link for link in self.underlay.host_links}


def intent_of(scenario: Scenario, catalog: Catalog) -> Intent:
    """Return what the devices of *scenario*'s network are to be told.

    Raises:
        NetloomError: the network cannot be built, addressed or kept lossless as asked.
    """
    site = site_of(scenario, catalog)
    technology = site.network.technology
    is_ethernet = technology.protocol != "infiniband"
    return Intent(
        site=site,
        underlay=underlay_of(site.plant) if is_ethernet else None,
        quality=quality_of(site) if technology.flow_control == "pfc" else None,
        partitions=partitions_of(site),
    )
