"""What execution traces ask of a network: their collectives summed, and how long each takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError, at
from netloom.provenance import Validity
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.spec.scenario import MAX_GPUS, Cluster, FabricSpec, Placement
from netloom.study.networks import network_of
from netloom.workload.collective import Collective, CollectiveKind, Group
from netloom.workload.collective_entry import collective_entry
from netloom.workload.trace import COLLECTIVE_CODES, WORLD, NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netloom.engines.base import Engine, Outcome
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.workload.trace import TraceNode

__all__ = [
    "RankTally",
    "TraceRow",
    "TraceTable",
    "network_for",
    "num_ranks_of",
    "summarize",
    "tally",
]

_KINDS: Final = {code: kind for kind, code in COLLECTIVE_CODES.items()}
# The rest of CollectiveCommType in et_def.proto, which no engine predicts.
_OTHER_KINDS: Final = {
    1: "reduce",
    3: "gather",
    4: "scatter",
    8: "reduce-scatter block",
    9: "barrier",
}
_LARGEST_BYTES: Final = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTally:
    """What one rank's trace holds.

    Attributes:
        collectives: How often, by (kind, ``comm_size``, group name).
        sends: How often, by (receiver, bytes).
        compute_us: All computation together.
        left_out: How often each kind of collective that no engine predicts.
    """

    collectives: Counter[tuple[CollectiveKind, int, str]] = field(default_factory=Counter)
    sends: Counter[tuple[int, int]] = field(default_factory=Counter)
    compute_us: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One collective of the traces.

    Attributes:
        count: How often, on the rank that has it most.
        num_ranks: Ranks read that have it; for messages, that send it.
        num_calls: Nodes of all ranks read.
    """

    collective: Collective
    count: int
    num_ranks: int
    num_calls: int
    outcome: Outcome

    @property
    def total_s(self) -> float:
        """All of one rank's runs, one after another."""
        return self.count * self.outcome.duration_s

    def to_json(self) -> dict[str, Any]:
        """Return the keys that docs/formats.md documents."""
        group = self.collective.group
        return {
            "kind": self.collective.kind.value,
            "size_bytes": self.collective.size_bytes,
            "group_ranks": group.size,
            "ranks_per_node": group.per_node,
            "count": self.count,
            "ranks": self.num_ranks,
            "calls": self.num_calls,
            "duration_s": self.outcome.duration_s,
            "total_s": self.total_s,
            "validity": self.outcome.validity.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTable(Tabular):
    """The collectives of a set of traces, the longest together first.

    Attributes:
        num_ranks: Of the job; some may have no trace.
        num_read: Ranks whose trace was read.
        compute_s: Computation of the rank that has most.
        notes: What was assumed or left out.
    """

    rows: tuple[TraceRow, ...]
    network: Network
    num_ranks: int
    num_read: int
    compute_s: float
    notes: tuple[str, ...]

    @property
    def validity(self) -> Validity:
        """Of all durations together."""
        found = Validity()
        for row in self.rows:
            found &= row.outcome.validity
        return found

    def table(self) -> Table:
        """Return the rows with plain columns."""
        kept = [{k: v for k, v in row.to_json().items() if k != "validity"} for row in self.rows]
        return Table.from_rows(kept)

    def to_json(self) -> dict[str, Any]:
        """Return the keys that docs/formats.md documents."""
        return {
            "technology": self.network.technology.name,
            "node": self.network.node.name,
            "ranks": self.num_ranks,
            "ranks_read": self.num_read,
            "compute_s": self.compute_s,
            "collectives": [row.to_json() for row in self.rows],
            "notes": list(self.notes),
            "validity": self.validity.to_json(),
        }


def tally(nodes: Iterable[TraceNode], *, rank: int, where: str) -> RankTally:
    """Return what one rank's nodes add up to; only distinct collectives are kept.

    Raises:
        SpecError: a collective or message lacks its size, its kind or its receiver.
    """
    found = RankTally()
    compute_us = 0
    for node in nodes:
        place = f"{where}: node {node.node_id}"
        if node.kind is NodeKind.COMPUTE:
            compute_us += node.duration_us
        elif node.kind is NodeKind.COLLECTIVE:
            _count_collective(found, node, place)
        elif node.kind is NodeKind.SEND:
            _check_sender(node, rank, place)
            to = _whole(node, "comm_dst", MAX_GPUS - 1, place)
            found.sends[to, _whole(node, "comm_size", _LARGEST_BYTES, place)] += 1
    return RankTally(
        collectives=found.collectives,
        sends=found.sends,
        compute_us=compute_us,
        left_out=found.left_out,
    )


def num_ranks_of(
    tallies: Mapping[int, RankTally], groups: Mapping[str, tuple[int, ...]], *, where: str
) -> int:
    """Return the ranks of the job: one more than the largest that anything names.

    Raises:
        SpecError: more than netloom goes to.
    """
    named = [
        *tallies,
        *(to for one in tallies.values() for to, _ in one.sends),
        *(rank for members in groups.values() for rank in members),
    ]
    found = max(named) + 1
    if found > MAX_GPUS:
        raise SpecError(
            file=where,
            what=f"rank {found - 1:,} is named",
            remedy=f"netloom goes to {MAX_GPUS:,} ranks",
        )
    return found


def network_for(num_ranks: int, catalog: Catalog, *, technology: str, node: str) -> Network:
    """Return a non-blocking network of as many nodes as *num_ranks* ranks fill.

    Raises:
        CatalogError: there is no such technology or node.
        InfeasibleError: no such network can be built.
    """
    with at("--node"):
        num_nodes = -(-num_ranks // catalog.node(node).num_gpus)
    with at("--technology"):
        catalog.technology(technology)
    cluster = Cluster(nodes=num_nodes, node=node, fabric=FabricSpec(technology=technology))
    return network_of(cluster, catalog)


def summarize(
    tallies: Mapping[int, RankTally],
    groups: Mapping[str, tuple[int, ...]],
    *,
    network: Network,
    engine: Engine,
    where: str,
) -> TraceTable:
    """Return the collectives of *tallies*, by rank, with their durations on *network*.

    Ranks fill nodes in order. A group that *groups* does not list is the ranks that use its name.

    Raises:
        SpecError: a rank uses a group that it is not in.
    """
    num_ranks = num_ranks_of(tallies, groups, where=where)
    members = _Members(tallies, groups, where=where, num_ranks=num_ranks, network=network)
    counts: dict[Collective, Counter[int]] = defaultdict(Counter)
    for rank, one in sorted(tallies.items()):
        for (kind, size, name), times in one.collectives.items():
            group = members.group(name, rank)
            if group.size > 1:
                counts[_collective(kind, size, group)][rank] += times
        for (to, size), times in one.sends.items():
            pair = _group((min(rank, to), max(rank, to)), network.node.num_gpus, num_ranks)
            message = CollectiveKind.SEND_RECV
            counts[_collective(message, size, pair)][rank] += times
    rows = [
        TraceRow(
            collective=asked,
            count=max(by_rank.values()),
            num_ranks=len(by_rank),
            num_calls=by_rank.total(),
            outcome=engine.run(asked, network),
        )
        for asked, by_rank in counts.items()
    ]
    return TraceTable(
        rows=tuple(sorted(rows, key=lambda row: -row.total_s)),
        network=network,
        num_ranks=num_ranks,
        num_read=len(tallies),
        compute_s=max(one.compute_us for one in tallies.values()) * 1e-6,
        notes=(*_notes(tallies, num_ranks), *members.notes()),
    )


class _Members:
    """The ranks of each group, as far as anything says."""

    def __init__(
        self,
        tallies: Mapping[int, RankTally],
        groups: Mapping[str, tuple[int, ...]],
        *,
        where: str,
        num_ranks: int,
        network: Network,
    ) -> None:
        self._where = where
        self._listed = {name: frozenset(ranks) for name, ranks in groups.items()}
        users: dict[str, list[int]] = defaultdict(list)
        for rank, one in sorted(tallies.items()):
            for name in sorted({name for _, _, name in one.collectives}):
                users[name].append(rank)
        self._guessed = [n for n in users if n not in groups and n not in WORLD]
        self._groups: dict[str, Group] = {}
        for name, used_by in users.items():
            ranks = range(num_ranks) if name in WORLD else used_by
            self._groups[name] = _group(groups.get(name, ranks), network.node.num_gpus, num_ranks)

    def group(self, name: str, rank: int) -> Group:
        """Return the group that *rank* calls *name*."""
        if rank not in self._listed.get(name, (rank,)):
            raise SpecError(
                what=(
                    f"{self._where}: rank {rank} communicates in group {name[:40]!r}, "
                    "which does not include it"
                ),
                remedy="give the groups that belong to these traces",
            )
        return self._groups[name]

    def notes(self) -> list[str]:
        """Return what was assumed of groups, and which have one rank only."""
        found = []
        if self._guessed:
            found.append(
                f"{len(self._guessed):,} groups are listed nowhere; taken as the ranks read that "
                f"use them"
            )
        alone = sum(group.size == 1 for group in self._groups.values())
        if alone:
            found.append(f"{alone:,} groups of a single rank move nothing and are left out")
        return found


def _collective(kind: CollectiveKind, input_size: int, group: Group) -> Collective:
    total = input_size * (group.size if collective_entry(kind).counts_gathered else 1)
    return Collective(kind=kind, size_bytes=float(total), group=group)


def _group(ranks: Sequence[int], gpus_per_node: int, num_ranks: int) -> Group:
    """Return where *ranks*, in order, sit when ranks fill nodes in order."""
    nodes = sorted({rank // gpus_per_node for rank in ranks})
    displaced = Placement().displaced  # a scenario's own default: traces do not say
    return Group(
        size=len(ranks),
        per_node=-(-len(ranks) // len(nodes)),
        node_stride=max(1, (nodes[-1] - nodes[0]) // max(1, len(nodes) - 1)),
        active_per_node=min(gpus_per_node, num_ranks),
        displaced=displaced if len(nodes) > 1 else 0.0,
    )


def _count_collective(found: RankTally, node: TraceNode, place: str) -> None:
    code = _whole(node, "comm_type", 1 << 31, place)
    if code in _OTHER_KINDS:
        found.left_out[_OTHER_KINDS[code]] += 1
        return
    if code not in _KINDS:
        raise SpecError(
            what=f"{place}: comm_type {code} is no collective of the schema",
            remedy="correct the trace",
        )
    size = _whole(node, "comm_size", _LARGEST_BYTES, place)
    found.collectives[_KINDS[code], size, str(node.attributes.get("pg_name", ""))] += 1


def _check_sender(node: TraceNode, rank: int, place: str) -> None:
    given = node.attributes.get("comm_src", rank)
    if given != rank or node.attributes.get("comm_dst") == rank:
        raise SpecError(
            what=(
                f"{place}: a message from {given} to {node.attributes.get('comm_dst')} in "
                f"the trace of rank {rank}"
            ),
            remedy="name files PREFIX.<rank>.et by the rank that they are of",
        )


def _whole(node: TraceNode, name: str, most: int, place: str) -> int:
    value = node.attributes.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        said = "has no" if value is None else f"has {str(value)[:40]!r} as"
        raise SpecError(
            what=f"{place} {said} {name}", remedy=f"communication needs one, from 0 to {most:,}"
        )
    return value


def _notes(tallies: Mapping[int, RankTally], num_ranks: int) -> list[str]:
    notes = []
    if len(tallies) < num_ranks:
        notes.append(f"{len(tallies):,} of {num_ranks:,} ranks have a trace here")
    left_out: Counter[str] = Counter()
    for one in tallies.values():
        left_out += one.left_out
    notes += [f"{n:,} x {kind} left out: no engine has it" for kind, n in sorted(left_out.items())]
    return notes
