"""OpenSM's files: options, roots, partitions, quality of service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.spec.topology import DragonflyPlus, Torus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.ops.deploy.partitions import Partition
    from netloom.ops.site import Site

    Guid = Callable[[int], int]

__all__ = ["opensm_conf", "partitions_conf", "qos_policy", "root_guids", "routing_engine"]

NUM_LANES: Final = 4  # ConnectX's default
DEFAULT_KEY: Final = 0x7FFF
ARBITRATION_WEIGHT: Final = 64  # x 64 bytes: one 4 KiB packet a turn
# Two polls of half a second: a dead master is replaced in about 2 s instead of 40.
POLL_MS: Final = 500
POLLS: Final = 2


def routing_engine(site: Site) -> str:
    """Return the engine for the scenario's topology.

    Up/down with its roots given keeps 99.8 % of the forwarding entries when a cable is lost; the
    fat-tree engine changes almost half of them. A torus and a dragonfly+ need lanes against
    deadlock, which nue assigns within the number there is.
    """
    topology = site.scenario.cluster.fabric.topology
    return "nue" if isinstance(topology, (Torus, DragonflyPlus)) else "updn"


def opensm_conf(site: Site, *, folder: str) -> str:
    """Return the options file; the other files lie in *folder* on the manager's host."""
    options = {
        "routing_engine": routing_engine(site),
        "no_fallback": "TRUE",
        "root_guid_file": f"{folder}/root-guids",
        "connect_roots": "TRUE",
        "nue_max_num_vls": str(NUM_LANES),
        "partition_config_file": f"{folder}/partitions.conf",
        "part_enforce": "both",
        "qos": "TRUE",
        "qos_policy_file": f"{folder}/qos-policy.conf",
        "qos_max_vls": str(NUM_LANES),
        "qos_high_limit": "0",
        "qos_vlarb_high": "0:0",
        "qos_vlarb_low": ",".join(f"{lane}:{ARBITRATION_WEIGHT}" for lane in range(NUM_LANES)),
        "qos_sl2vl": ",".join(str(level % NUM_LANES) for level in range(16)),
        "sminfo_polling_timeout": str(POLL_MS),
        "polling_retry_number": str(POLLS),
    }
    if routing_engine(site) == "nue":
        del options["root_guid_file"], options["connect_roots"]
    else:
        del options["nue_max_num_vls"]
    return "".join(f"{name} {value}\n" for name, value in options.items())


def root_guids(site: Site, guid: Guid) -> str:
    """Return the switches of the highest tier, one a line."""
    top = max(device.tier for device in site.plant.devices)
    roots = [n for n, device in enumerate(site.plant.devices) if device.tier == top]
    return "".join(f"{guid(number):#018x}\n" for number in roots)


def partitions_conf(partitions: Sequence[Partition], guid: Guid) -> str:
    """Return the partitions.

    With tenants, everybody is a limited member of the default partition: all reach the manager
    and nobody reaches another through it. Without, all are full members, as OpenSM does by itself.
    """
    member = "limited" if partitions else "full"
    default = f"Default={DEFAULT_KEY:#06x}, ipoib : ALL={member}, SELF=full, ALL_SWITCHES=full ;\n"
    return default + "".join(_partition(one, guid) for one in partitions)


def _partition(one: Partition, guid: Guid) -> str:
    """Return one partition; a NIC port's GUID is its NIC's plus 1."""
    members = ", ".join(f"{guid(host) + 1:#018x}" for host in one.hosts)
    return f"{one.name}={one.key:#06x}, ipoib, sl={one.level}, defmember=full : {members} ;\n"


def qos_policy(partitions: Sequence[Partition]) -> str:
    """Return the policy: each partition on its level, all else on level 0."""
    return "".join(f"{line}\n" for line in _policy_lines(partitions))


def _policy_lines(partitions: Sequence[Partition]) -> Iterator[str]:
    yield "qos-levels"
    for name, level in (("DEFAULT", 0), *((one.name, one.level) for one in partitions)):
        yield "  qos-level"
        yield f"    name: {name}"
        yield f"    sl: {level}"
        yield "  end-qos-level"
    yield "end-qos-levels"
    yield "qos-match-rules"
    for one in partitions:
        yield "  qos-match-rule"
        yield f"    pkey: {one.key:#06x}"
        yield f"    qos-level-name: {one.name}"
        yield "  end-qos-match-rule"
    yield "end-qos-match-rules"
