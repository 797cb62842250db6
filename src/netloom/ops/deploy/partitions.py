"""Partitions: which hosts of the plant each tenant has, and under which key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.spec.tenants import DEFAULT_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.site import Site
    from netloom.spec.tenants import Tenant

__all__ = ["NUM_LANES", "Partition", "partitions_of"]

NUM_LANES: Final = 4  # virtual lanes for data that ConnectX has by default


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A tenant's part of the network.

    Attributes:
        key: 1 to 0x7FFE.
        level: InfiniBand service level; tenants start at 1, level 0 is everybody else's.
        hosts: Its NIC ports, by their place in the plant.
    """

    name: str
    key: int
    level: int
    hosts: tuple[int, ...]


def partitions_of(site: Site) -> tuple[Partition, ...]:
    """Return the partitions of the scenario's tenants, in their order.

    Raises:
        SpecError: a tenant names a node that is not there, or one that another tenant has.
    """
    owner: dict[int, str] = {}
    for tenant in site.scenario.tenants:
        _claim(site, tenant, owner)
    keys = _keys(site.scenario.tenants)
    hosts: dict[str, list[int]] = {tenant.name: [] for tenant in site.scenario.tenants}
    for host, nic in enumerate(site.nics):
        if nic.node in owner:
            hosts[owner[nic.node]].append(host)
    return tuple(
        Partition(
            name=tenant.name,
            key=key,
            level=1 + index % (NUM_LANES - 1),
            hosts=tuple(hosts[tenant.name]),
        )
        for index, (tenant, key) in enumerate(zip(site.scenario.tenants, keys, strict=True))
    )


def _claim(site: Site, tenant: Tenant, owner: dict[int, str]) -> None:
    num_nodes = site.network.design.num_nodes
    for node in tenant.node_numbers():
        if node >= num_nodes:
            raise SpecError(
                key="tenants",
                what=f"{tenant.name!r} has node {node}, but nodes are 0 to {num_nodes - 1}",
            )
        if node in owner:
            raise SpecError(
                key="tenants",
                what=f"node {node} belongs to {owner[node]!r} and to {tenant.name!r}",
                remedy="give it to one",
            )
        owner[node] = tenant.name


def _keys(tenants: tuple[Tenant, ...]) -> Iterator[int]:
    """Yield each tenant's key: its own, or the lowest that is free."""
    taken = {tenant.partition_key for tenant in tenants}
    free = (key for key in range(1, DEFAULT_KEY) if key not in taken)
    for tenant in tenants:
        yield tenant.partition_key if tenant.partition_key is not None else next(free)
