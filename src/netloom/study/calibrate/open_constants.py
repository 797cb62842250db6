"""Constants that the rows do not decide: why not, and what to run to know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.study.calibrate.series import (
    LARGE_BYTES,
    LARGE_MESSAGE_BYTES,
    SMALL_BYTES,
    has_some_partners,
    is_long_enough,
    is_settled,
)
from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.parts.parts import Node
    from netloom.study.calibrate.fitting import TimedCollective
    from netloom.study.calibrate.network import NetworkFit

__all__ = ["OpenConstant", "open_constants", "shown_size", "what_to_run"]

_PROGRAMS: Final = {
    CollectiveKind.ALL_REDUCE: "all_reduce_perf",
    CollectiveKind.ALL_GATHER: "all_gather_perf",
    CollectiveKind.ALL_TO_ALL: "alltoall_perf",
    CollectiveKind.SEND_RECV: "sendrecv_perf",
}
_FEW_PARTNERS: Final = "a rank has under 8 partners in other nodes"
_FEW_NODES: Final = 8  # enough for a ring's hops, and quick
_MANY_RANKS: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConstant:
    """A constant that stays as shipped.

    Attributes:
        key: As a file of parts writes it.
        why: What the rows lack.
        measure: The command that would decide it.
    """

    key: str
    why: str
    measure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    key: str
    kind: CollectiveKind
    why: Callable[[Sequence[TimedCollective], int], str]


def shown_size(size_bytes: float) -> str:
    """Return a size as nccl-tests steps through them: ``64 KiB``, ``1 GiB``."""
    for unit, worth in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= worth:
            return f"{size_bytes / worth:.4g} {unit}"
    return f"{size_bytes:.0f} B"


def what_to_run(kind: CollectiveKind, node: Node, num_nodes: int) -> str:
    """Return a command line of nccl-tests that measures *kind* on *num_nodes* from 8 B to 8 GiB."""
    per_host = max(1, node.num_gpus // node.num_hosts)
    num_ranks = num_nodes * node.num_hosts * per_host
    return (
        f"mpirun -np {num_ranks} -N {per_host} ./build/{_PROGRAMS[kind]} -b 8 -e 8G -f 2 -g 1"
        " -n 20 -w 5"
    )


def open_constants(
    rows: Sequence[TimedCollective], fit: NetworkFit, *, num_nodes: int
) -> tuple[OpenConstant, ...]:
    """Return what *rows* leave open of a cluster of *num_nodes*."""
    decided = {one.key for one in fit.constants}
    if "collectives.tree_rate" in decided:
        decided.add("nic_share")
    between = [row for row in rows if row.collective.group.num_nodes > 1]
    measured_on = max((row.collective.group.num_nodes for row in between), default=0)
    run_on = min(num_nodes, max(_FEW_NODES, measured_on))
    found = []
    for question in _QUESTIONS:
        if question.key in decided or _is_moot(question.key, fit.node, num_nodes):
            continue
        nodes = num_nodes if question.key == _FAR else run_on
        command = what_to_run(question.kind, fit.node, max(2, nodes))
        why = question.why(between, num_nodes)
        found.append(OpenConstant(key=question.key, why=why, measure=command))
    return tuple(found)


_FAR: Final = "collectives.far_partner"


def _is_moot(key: str, node: Node, num_nodes: int) -> bool:
    """Return whether a constant says nothing of so small a cluster."""
    return key == _FAR and num_nodes * node.num_gpus <= _MANY_RANKS


def _ringed(rows: Sequence[TimedCollective]) -> list[TimedCollective]:
    return [row for row in rows if not collective_entry(row.collective.kind).is_direct]


def _of(rows: Sequence[TimedCollective], kind: CollectiveKind) -> list[TimedCollective]:
    return [row for row in rows if row.collective.kind is kind]


def _smallest(rows: Sequence[TimedCollective]) -> str:
    return shown_size(min(row.collective.size_bytes for row in rows))


def _largest(rows: Sequence[TimedCollective]) -> str:
    return shown_size(max(row.collective.size_bytes for row in rows))


def _why_no_rate(rows: Sequence[TimedCollective], least_bytes: float) -> str:
    """Return why *rows*, which are some, tell no rate."""
    if max(row.collective.size_bytes for row in rows) < least_bytes:
        least = shown_size(least_bytes)
        return f"the largest message is {_largest(rows)}; a rate shows from {least} on"
    if not any(is_settled(some) for some in _series(rows)):
        return (
            "no test has a quarter and a half of its largest message, or the rate still rises by"
            f" more than 8 % at the largest, {_largest(rows)}"
        )
    return "the NICs are not what decides: nodes are slower inside"


def _series(rows: Sequence[TimedCollective]) -> list[list[TimedCollective]]:
    keys = dict.fromkeys((row.collective.kind, row.collective.group) for row in rows)
    return [
        [row for row in rows if (row.collective.kind, row.collective.group) == key] for key in keys
    ]


def _no_nic_share(rows: Sequence[TimedCollective], _num_nodes: int) -> str:
    some = _ringed(rows)
    if not some:
        return "no all-reduce, all-gather or reduce-scatter between nodes was measured"
    return _why_no_rate(some, LARGE_BYTES)


def _no_ring_hops(rows: Sequence[TimedCollective], num_nodes: int) -> str:
    some = [row for row in _ringed(rows) if row.collective.kind is not CollectiveKind.BROADCAST]
    if not some:
        return "no all-reduce, all-gather or reduce-scatter between nodes was measured"
    if not any(is_long_enough(row, num_nodes) for row in some):
        return "rings of two nodes do not tell of longer ones"
    return f"bytes decide all rings from {_smallest(some)} on, or trees ran; smaller ones tell"


def _no_hop(rows: Sequence[TimedCollective], num_nodes: int) -> str:
    some = _ringed(rows)
    if not some:
        return _no_ring_hops(rows, num_nodes)
    if min(row.collective.size_bytes for row in some) > SMALL_BYTES:
        return f"the smallest message is {_smallest(some)}; a start-up shows up to 4 KiB"
    return "no tree ran, and no ring says it"


def _no_rendezvous(rows: Sequence[TimedCollective], num_nodes: int) -> str:
    return (
        "no tree of 1 to 256 MiB is held up by its hops, and no ring tells of small and middle"
        " messages"
        if _ringed(rows)
        else _no_ring_hops(rows, num_nodes)
    )


def _no_exchange_share(rows: Sequence[TimedCollective], _num_nodes: int) -> str:
    some = _of(rows, CollectiveKind.ALL_TO_ALL)
    if not some:
        return "no all-to-all between nodes was measured"
    some = [row for row in some if has_some_partners(row)]
    return _why_no_rate(some, LARGE_BYTES) if some else _FEW_PARTNERS


def _no_partner(rows: Sequence[TimedCollective], _num_nodes: int) -> str:
    some = _of(rows, CollectiveKind.ALL_TO_ALL)
    if not some:
        return "no all-to-all between nodes was measured"
    if not any(has_some_partners(row) for row in some):
        return _FEW_PARTNERS
    return f"partners show up to 64 ranks and 64 KiB; the smallest all-to-all is {_smallest(some)}"


def _no_far_partner(rows: Sequence[TimedCollective], _num_nodes: int) -> str:
    some = _of(rows, CollectiveKind.ALL_TO_ALL)
    return (
        "no all-to-all of over 128 ranks and up to 1 MiB was measured"
        if some
        else "no all-to-all between nodes was measured"
    )


def _no_message_share(rows: Sequence[TimedCollective], _num_nodes: int) -> str:
    some = _of(rows, CollectiveKind.SEND_RECV)
    if not some:
        return "no send-recv between nodes was measured"
    return _why_no_rate(some, LARGE_MESSAGE_BYTES)


_QUESTIONS: Final = (
    _Question(key="nic_share", kind=CollectiveKind.ALL_REDUCE, why=_no_nic_share),
    _Question(key="collectives.ring_hops", kind=CollectiveKind.ALL_GATHER, why=_no_ring_hops),
    _Question(key="collectives.hop", kind=CollectiveKind.ALL_REDUCE, why=_no_hop),
    _Question(key="collectives.rendezvous", kind=CollectiveKind.ALL_REDUCE, why=_no_rendezvous),
    _Question(
        key="collectives.all_to_all_share",
        kind=CollectiveKind.ALL_TO_ALL,
        why=_no_exchange_share,
    ),
    _Question(key="collectives.partner", kind=CollectiveKind.ALL_TO_ALL, why=_no_partner),
    _Question(key=_FAR, kind=CollectiveKind.ALL_TO_ALL, why=_no_far_partner),
    _Question(
        key="collectives.message_share", kind=CollectiveKind.SEND_RECV, why=_no_message_share
    ),
)
