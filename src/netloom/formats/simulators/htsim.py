"""Read htsim's fat trees (``.topo``) and connection matrices (``.cm``) as they are.

Formats and rules: Broadcom/csg-htsim, sim/datacenter/fat_tree_topology.cpp and
connection_matrix.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.formats.simulators.lines import lines_of, shown
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Failure", "HtsimTree", "queues_of", "read_tree", "wire_tree"]

MAX_NODES: Final = 1 << 20
HEADER: Final = ("nodes", "tiers", "podsize")
TIER_KEYS: Final = (
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
    "queue_up",
    "queue_down",
)
_DEFAULTS: Final = {
    "oversubscribed": 1,
    "bundle": 1,
    "switch_latency_ns": 0,
    "radix_up": 0,
    "queue_up": 0,
    "queue_down": 0,
}
SwitchType = Literal["TOR", "AGG", "CORE"]
SWITCH_TYPES: Final[tuple[SwitchType, ...]] = ("TOR", "AGG", "CORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A cable that is down: the *link*-th up from a switch, or down from one of the core.

    Attributes:
        where: File and line that say so.
    """

    switch_type: SwitchType
    switch: int
    link: int
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HtsimTree:
    """A ``.topo`` file.

    Attributes:
        num_nodes: Hosts.
        pod_hosts: Hosts in a pod.
        tiers: What each tier's block says, bottom first; keys are those of the file.
        name: The file.
    """

    num_nodes: int
    pod_hosts: int
    tiers: tuple[Mapping[str, int], ...]
    name: str

    @property
    def num_tors(self) -> int:
        """Switches of the lowest tier."""
        return self.num_nodes // self.tiers[0]["radix_down"]

    @property
    def num_pods(self) -> int:
        """Pods; a tree of two tiers is one."""
        return self.num_nodes // self.pod_hosts if len(self.tiers) == 3 else 1

    def above(self, tier: int) -> int:
        """Return how many switches of the next tier a switch of *tier* has cables to."""
        return self.tiers[tier]["radix_up"] // self.tiers[tier + 1]["bundle"]


def read_tree(text: str, *, name: str) -> HtsimTree:
    """Return the tree in *text*; *name* opens the messages.

    Raises:
        SpecError: the text is wrong, or the numbers do not make a tree.
    """
    header: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    current: dict[str, int] = header
    for line in lines_of(text, name=name):
        key = line.words[0].lower()
        line.expect(2, "key value")
        if key == "tier":
            tier = line.whole(line.words[1], "tier (0 to 2)", most=2)
            current = tiers.setdefault(tier, {})
            continue
        known = HEADER if current is header else TIER_KEYS
        if key not in known:
            line.refuse(f"{shown(line.words[0])} is not known; {did_you_mean(key, known)}")
        if key in current:
            line.refuse(f"{line.words[0]} is given twice; remove one")
        current[key] = line.whole(line.words[1], key, most=1 << 30)
    return _tree(header, tiers, name=name)


def _tree(
    header: Mapping[str, int], tiers: Mapping[int, dict[str, int]], *, name: str
) -> HtsimTree:
    for key in HEADER:
        if not header.get(key):
            raise SpecError(
                file=name,
                what=f"{key} is missing or 0",
                remedy=f"add '{key.capitalize()} N' before the tiers",
            )
    count = header["tiers"]
    if count not in (2, 3) or sorted(tiers) != list(range(count)):
        raise SpecError(
            file=name,
            what=f"{count} tiers with blocks {sorted(tiers)}",
            remedy="give 2 or 3, one block each",
        )
    filled = tuple(_DEFAULTS | tiers[number] for number in range(count))
    needed = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")
    for number, tier in enumerate(filled):
        for key in (*needed, "bundle", *(("radix_up",) if number < count - 1 else ())):
            if not tier.get(key):
                raise SpecError(
                    file=name, what=f"tier {number} lacks {key}", remedy=f"add a line '{key} N'"
                )
    tree = HtsimTree(
        num_nodes=header["nodes"], pod_hosts=header["podsize"], tiers=filled, name=name
    )
    _check(tree)
    return tree


def _check(tree: HtsimTree) -> None:
    low, high = tree.tiers[0], tree.tiers[-1]
    rules = [
        (tree.num_nodes <= MAX_NODES, f"{tree.num_nodes} nodes are too many"),
        (low["bundle"] == 1, "a host has one cable: bundle of tier 0 must be 1"),
        (tree.num_nodes % low["radix_down"] == 0, "nodes are no multiple of radix_down of tier 0"),
        (tree.num_nodes % tree.pod_hosts == 0, "nodes are no multiple of podsize"),
        (tree.pod_hosts % low["radix_down"] == 0, "podsize is no multiple of radix_down of tier 0"),
    ]
    for number in range(len(tree.tiers) - 1):
        bundle = tree.tiers[number + 1]["bundle"]
        divides = tree.tiers[number]["radix_up"] % bundle == 0
        rules.append((divides, f"radix_up of tier {number} is no multiple of the bundle above"))
    for holds, what in rules:
        if not holds:
            raise SpecError(file=tree.name, what=what, remedy="correct the file")
    _check_capacity(tree, high)


def _check_capacity(tree: HtsimTree, high: Mapping[str, int]) -> None:
    """Hold the radices to one another, and to the oversubscription that the file states."""
    tors_per_pod = tree.num_tors // tree.num_pods
    middle = tree.tiers[1]
    ports = tors_per_pod * middle["bundle"]
    if middle["radix_down"] != ports:
        raise SpecError(
            file=tree.name,
            what=(
                f"tier 1 has radix_down {middle['radix_down']}, but {tors_per_pod} "
                f"switches below with {middle['bundle']} cables each take {ports}"
            ),
            remedy="correct one",
        )
    if len(tree.tiers) == 3 and high["radix_down"] != tree.num_pods * high["bundle"]:
        raise SpecError(
            file=tree.name,
            what=(
                f"tier 2 has radix_down {high['radix_down']}, but {tree.num_pods} pods "
                f"with {high['bundle']} cables each take {tree.num_pods * high['bundle']}"
            ),
            remedy="correct one",
        )
    for number in range(len(tree.tiers) - 1):
        tier, above = tree.tiers[number], tree.tiers[number + 1]
        down = tier["radix_down"] * tier["downlink_speed_gbps"]
        up = tier["radix_up"] * above["downlink_speed_gbps"]
        if down != up * tier["oversubscribed"]:
            raise SpecError(
                file=tree.name,
                what=(
                    f"tier {number} has {down} Gb/s down and {up} up, which is not "
                    f"Oversubscribed {tier['oversubscribed']}"
                ),
                remedy="correct a radix, a speed or that",
            )


@dataclass(slots=True)
class _Drum:
    """Cables as they are laid."""

    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    tier: list[int] = field(default_factory=list)

    def lay(self, lower: int, upper: int, tier: int) -> None:
        self.lower.append(lower)
        self.upper.append(upper)
        self.tier.append(tier)


def wire_tree(tree: HtsimTree, failures: Sequence[Failure] = ()) -> PacketTopology:
    """Return the wiring of *tree* without the cables that *failures* name.

    Raises:
        SpecError: a failure names a switch or a cable that is not there.
    """
    counts = _counts(tree)
    first = np.cumsum([tree.num_nodes, *counts])
    drum = _Drum()
    for host in range(tree.num_nodes):
        drum.lay(host, int(first[0]) + host // tree.tiers[0]["radix_down"], 0)
    per_pod = counts[0] // tree.num_pods
    for tor in range(counts[0]):
        pod = tor // per_pod
        for turn in range(tree.above(0)):
            for _ in range(tree.tiers[1]["bundle"]):
                drum.lay(first[0] + tor, first[1] + pod * tree.above(0) + turn, 1)
    if len(tree.tiers) == 3:
        for agg in range(counts[1]):
            place = agg % tree.above(0)
            for turn in range(tree.above(1)):
                for _ in range(tree.tiers[2]["bundle"]):
                    drum.lay(first[1] + agg, first[2] + place + tree.above(0) * turn, 2)
    return _wired(tree, drum, counts, failures)


def queues_of(tree: HtsimTree, wiring: PacketTopology) -> tuple[int, ...]:
    """Return how many bytes may wait for each link of *wiring*; 0 where *tree* does not say.

    A tier's ``queue_up`` and ``queue_down`` are those of its switches' ports, in bytes
    (fat_tree_topology.cpp: ``mem_b``).
    """
    tier = np.repeat(np.arange(len(tree.tiers) + 1) - 1, [tree.num_nodes, *_counts(tree)])
    source, target = tier[wiring.link_source], tier[wiring.link_target]
    up, down = (
        np.array([0, *(block[key] for block in tree.tiers)], dtype=np.int64)
        for key in ("queue_up", "queue_down")
    )
    return tuple(np.where(source < target, up[source + 1], down[source + 1]).tolist())


def _counts(tree: HtsimTree) -> list[int]:
    """Return the switches of each tier."""
    aggs = tree.num_pods * tree.above(0)
    cores = tree.above(0) * tree.above(1) if len(tree.tiers) == 3 else 0
    return [tree.num_tors, aggs, cores][: len(tree.tiers)]


def _wired(
    tree: HtsimTree, drum: _Drum, counts: Sequence[int], failures: Sequence[Failure]
) -> PacketTopology:
    tier = np.array(drum.tier)
    lower, upper = np.array(drum.lower, dtype=np.int64), np.array(drum.upper, dtype=np.int64)
    speed, latency = (
        np.array([block[key] for block in tree.tiers], dtype=np.int64)
        for key in ("downlink_speed_gbps", "downlink_latency_ns")
    )
    up = np.ones(len(tier), dtype=np.bool_)
    for failure in failures:
        up[_failed(failure, lower, upper, num_nodes=tree.num_nodes, counts=counts)] = False
    forward = [block["switch_latency_ns"] * 1000 for block in tree.tiers]
    names = [f"{kind}:{number}" for kind, count in _kinds(tree, counts) for number in range(count)]
    return wire_up(
        CableList(
            lower=lower,
            upper=upper,
            rate_bps=speed[tier] * 1e9,
            delay_ps=latency[tier] * 1000,
            up=up,
        ),
        num_endpoints=tree.num_nodes,
        name=tuple(names),
        forward_ps=np.repeat([0, *forward], [tree.num_nodes, *counts]),
    )


def _kinds(tree: HtsimTree, counts: Sequence[int]) -> list[tuple[str, int]]:
    names = ("tor", "agg", "core")
    return [("host", tree.num_nodes), *zip(names, counts, strict=False)]


def _failed(
    failure: Failure,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    num_nodes: int,
    counts: Sequence[int],
) -> int:
    tier = SWITCH_TYPES.index(failure.switch_type)
    if tier >= len(counts) or failure.switch >= counts[tier]:
        known = [f"{count} {kind}" for kind, count in zip(SWITCH_TYPES, counts, strict=False)]
        raise SpecError(
            what=f"{failure.where}: there is no {failure.switch_type} switch {failure.switch}",
            remedy=f"the tree has {', '.join(known)}",
        )
    vertex = num_nodes + sum(counts[:tier]) + failure.switch
    ends = upper if tier == len(counts) - 1 else lower
    cables = np.flatnonzero(ends == vertex)
    if failure.link >= len(cables):
        message = (
            f"{failure.where}: {failure.switch_type} switch {failure.switch} has cables 0 to "
            f"{len(cables) - 1}, not {failure.link}"
        )
        raise SpecError(message)
    return int(cables[failure.link])
