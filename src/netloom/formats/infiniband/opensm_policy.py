"""OpenSM's files besides its options: partitions and quality of service, rendered and read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.ops.deploy.partitions import NUM_LANES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from netloom.ops.deploy.partitions import Partition

    Guid = Callable[[int], int]

__all__ = ["partitions_conf", "qos_options", "qos_policy", "read_keys"]

DEFAULT_KEY: Final = 0x7FFF
ARBITRATION_WEIGHT: Final = 64  # x 64 bytes: one 4 KiB packet a turn
NUM_LEVELS: Final = 16
# Members of a partition on one line, others on further lines of the same partition: OpenSM 3.3.23
# was seen to cut a line of 256 members (5 kB) and to refuse the file.
PER_LINE: Final = 64
_KEY: Final = re.compile(r"^\s*([\w-]{1,64})\s*=\s*(0x[0-9a-fA-F]{1,4})\b", re.ASCII | re.MULTILINE)


def qos_options() -> dict[str, object]:
    """Return the options of quality of service: level n goes over lane n, lanes take turns."""
    return {
        "part_enforce": "both",
        "qos": "TRUE",
        "qos_max_vls": NUM_LANES,
        "qos_high_limit": 0,
        # Every lane is named: OpenSM 3.3.23 takes "0:0" for nothing said and prefers lane 0.
        "qos_vlarb_high": ",".join(f"{lane}:0" for lane in range(NUM_LANES)),
        "qos_vlarb_low": ",".join(f"{lane}:{ARBITRATION_WEIGHT}" for lane in range(NUM_LANES)),
        "qos_sl2vl": ",".join(str(level % NUM_LANES) for level in range(NUM_LEVELS)),
    }


def partitions_conf(partitions: Sequence[Partition], guid: Guid, *, has_levels: bool) -> str:
    """Return the partitions.

    With tenants, everybody is a limited member of the default partition: all reach the manager
    and none reaches another through it. Without, all are full members, as OpenSM does by itself.

    Args:
        partitions: Tenants, with hosts of this subnet.
        guid: The port GUID of a host, by its place in the plant.
        has_levels: Whether tenants have levels of their own: only where the routing engine does
            not need levels against deadlock.
    """
    member = "limited" if partitions else "full"
    default = f"Default={DEFAULT_KEY:#06x}, ipoib : ALL={member}, SELF=full, ALL_SWITCHES=full ;\n"
    return default + "".join(_partition(one, guid, has_levels=has_levels) for one in partitions)


def _partition(one: Partition, guid: Guid, *, has_levels: bool) -> str:
    level = f", sl={one.level}" if has_levels else ""
    head = f"{one.name}={one.key:#06x}, ipoib{level}, defmember=full"
    guids = [f"{guid(host):#018x}" for host in one.hosts]
    starts = range(0, max(1, len(guids)), PER_LINE)
    lines = (", ".join(guids[start : start + PER_LINE]) for start in starts)
    return "".join(f"{head} : {members} ;\n" for members in lines)


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


def read_keys(text: str, where: str) -> tuple[int, ...]:
    """Return the key of every partition in a partitions.conf; one on several lines counts once.

    Raises:
        SpecError: it has none; then OpenSM would make up its own.
    """
    found = dict.fromkeys((name, int(key, 16) & DEFAULT_KEY) for name, key in _KEY.findall(text))
    if not found:
        raise SpecError(what=f"{where}: no partition is in it", remedy="render it again")
    return tuple(key for _, key in found)
