"""The files of every subnet's manager: rendered once, for its host or for a lab."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.lab.infiniband import default_engine
from netloom.formats.infiniband import opensm as opensm_format
from netloom.formats.infiniband import opensm_policy as opensm_files
from netloom.ops.plant import subnets

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.deploy.intent import Intent

    Guid = Callable[[int], int]

__all__ = ["HOME", "SubnetFiles", "engine_of", "has_levels", "subnet_files"]

# Where files go on the manager's own host; opensm(8) of Debian reads /etc/opensm/opensm.conf.
HOME: Final = opensm_format.SubnetManager(folder=Path("/etc/opensm"))
AT_HOME: Final = {
    "log_file": "/var/log/opensm.log",
    "dump_files_dir": "/var/log",
    "accum_log_file": "TRUE",
    "perfmgr_max_outstanding_queries": 500,  # OpenSM's own default; fewer are for ibsim
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetFiles:
    """What a subnet manager reads, by file name."""

    number: int
    devices: tuple[int, ...]
    files: dict[str, str]


def engine_of(intent: Intent) -> str:
    """Return the routing engine of the scenario's topology."""
    return default_engine(intent.site.network.design.topology)


def has_levels(intent: Intent) -> bool:
    """Return whether tenants get service levels of their own.

    Only with up/down routing: engines for other graphs may choose the level of each path against
    deadlock (opensm(8), nue and dfsssp), and what overrides it undoes that.
    """
    return engine_of(intent) == "updn"


def subnet_files(
    intent: Intent, guid: Guid, *, manager: opensm_format.SubnetManager = HOME, priority: int = 0
) -> tuple[SubnetFiles, ...]:
    """Return the files of the managers of all subnets.

    Args:
        intent: What the devices are to be told.
        guid: The port GUID of a device, by its place in the plant.
        manager: Where the files will lie.
        priority: Of the manager among those of its subnet.
    """
    found = subnets(intent.site.plant)
    return tuple(
        _files(intent, guid, SubnetFiles(number=n, devices=d, files={}), manager, priority)
        for n, d in enumerate(found)
    )


def _files(
    intent: Intent,
    guid: Guid,
    subnet: SubnetFiles,
    manager: opensm_format.SubnetManager,
    priority: int,
) -> SubnetFiles:
    plant, levels = intent.site.plant, has_levels(intent)
    members = set(subnet.devices)
    partitions = tuple(
        replace(one, hosts=tuple(host for host in one.hosts if host in members))
        for one in intent.partitions
    )
    tiers = [plant.devices[device].tier for device in subnet.devices]
    roots = [d for d, tier in zip(subnet.devices, tiers, strict=True) if tier == max(tiers)]
    options = opensm_format.render_configuration(
        manager,
        engine=engine_of(intent),
        has_roots=levels and max(tiers) > 1,
        priority=priority,
        more={**opensm_files.qos_options(), **(AT_HOME if manager is HOME else {})},
    )
    files = {
        manager.configuration.name: options,
        manager.roots.name: opensm_format.render_roots(guid(device) for device in roots),
        "partitions.conf": opensm_files.partitions_conf(partitions, guid, has_levels=levels),
        "qos-policy.conf": opensm_files.qos_policy(partitions if levels else ()),
    }
    return replace(subnet, files=files)
