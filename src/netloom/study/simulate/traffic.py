"""From the traffic of a scenario to transfers between endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError, at
from netloom.fabric.wire.framing import efficiency
from netloom.spec.traffic import (
    CollectiveTraffic,
    FlowFile,
    Incast,
    OneToOne,
    OpenLoop,
    Permutation,
    Storage,
)
from netloom.study.simulate.flow_file import flow_file
from netloom.workload import exchange, patterns
from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import ExchangePlan, collective_entry
from netloom.workload.dag import Dag, Label, beside, then, to_transfers
from netloom.workload.exchange_tree import double_tree
from netloom.workload.sizes import distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.network import Network
    from netloom.spec.traffic import Traffic
    from netloom.workload.transfers import Transfers

__all__ = [
    "DEFAULT_SLICES",
    "TrafficContext",
    "group_size",
    "members_of",
    "place_of",
    "transfers_of",
]

_PS: Final = 1e12
DEFAULT_SLICES: Final = 8  # of trees and broadcasts


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficContext:
    """What traffic must know of the network it runs on.

    Attributes:
        num_endpoints: GPUs or hosts.
        per_node: Of these, how many share a node, in order.
        rate_bps: Of an endpoint's link, for loads.
    """

    num_endpoints: int
    per_node: int
    rate_bps: float


def place_of(network: Network) -> TrafficContext:
    """Return what traffic must know of a cluster's GPUs.

    A GPU's link is its share of the NICs, or the way to them where that is slower. That way is
    rated in payload: to a NIC of its own it is as much faster on the wire as headers are long.
    """
    node, technology = network.node, network.technology
    nics = node.num_nics / node.num_gpus
    handed_bps = node.host_rate_bps
    if nics >= 1:
        handed_bps *= nics / efficiency(technology.payload_bytes, technology.header_bytes)
    return TrafficContext(
        num_endpoints=network.design.num_gpus,
        per_node=node.num_gpus,
        rate_bps=min(network.nic_rate_bps * nics, handed_bps),
    )


def transfers_of(
    traffic: Sequence[Traffic], place: TrafficContext, *, rng: np.random.Generator
) -> Transfers:
    """Return all pieces of *traffic*, each a job of its own, at once.

    Raises:
        SpecError: a piece names endpoints that are not there, or cannot be done with that number.
        InfeasibleError: there would be more flows than anybody can keep.
    """
    dags, labels = [], []
    for number, piece in enumerate(traffic):
        with at(f"traffic.{number}"):
            dag = _dag(piece, place, rng)
        dag.start_ps[:] += round(piece.start_s * _PS)
        dags.append(dag)
        labels.append(Label(priority=piece.priority, job=number))
    return to_transfers(dags, labels, rng=rng)


def _dag(piece: Traffic, place: TrafficContext, rng: np.random.Generator) -> Dag:
    match piece:
        case OneToOne():
            source, target = _endpoint(piece.source, place), _endpoint(piece.target, place)
            if piece.source == piece.target:
                raise SpecError(
                    what=f"{piece.source} sends to itself", remedy="name two different endpoints"
                )
            return exchange.send_recv(source, target, round(piece.size_bytes))
        case FlowFile():
            return flow_file(piece.file, num_endpoints=place.num_endpoints)
        case Permutation():
            members = members_of(piece, place)
            return patterns.permutation(members, round(piece.size_bytes), rng=rng)
        case OpenLoop():
            return _open_loop(piece, place, rng)
        case _:
            return _fixed(piece, place)


def _open_loop(piece: OpenLoop, place: TrafficContext, rng: np.random.Generator) -> Dag:
    return patterns.open_loop(
        members_of(piece, place),
        distribution(piece.distribution),
        rate_bps=place.rate_bps,
        load=piece.load,
        duration_ps=round(piece.duration_s * _PS),
        rng=rng,
    )


def _fixed(piece: Incast | Storage | CollectiveTraffic, place: TrafficContext) -> Dag:
    """Return traffic in which nothing is drawn."""
    members = members_of(piece, place)
    if isinstance(piece, Incast):
        return _incast(piece, members, place)
    if isinstance(piece, Storage):
        return _storage(piece, members)
    return _collective(piece, members, place)


def _endpoint(number: int, place: TrafficContext) -> NDArray[np.int64]:
    if number >= place.num_endpoints:
        raise SpecError(
            what=f"there is no endpoint {number}", remedy=f"they are 0 to {place.num_endpoints - 1}"
        )
    return np.array([number], dtype=np.int64)


def members_of(piece: Traffic, place: TrafficContext) -> NDArray[np.int64]:
    """Return the endpoints that take part.

    Raises:
        SpecError: there are fewer.
    """
    found = np.arange(piece.first, place.num_endpoints, piece.every, dtype=np.int64)
    count = len(found) if piece.count is None else piece.count
    if not 1 <= count <= len(found):
        raise SpecError(
            what=(
                f"{count} endpoints from {piece.first}, every {piece.every}, but there are "
                f"{place.num_endpoints}"
            ),
            remedy="lower 'count', 'first' or 'every'",
        )
    return found[:count]


def _incast(piece: Incast, members: NDArray[np.int64], place: TrafficContext) -> Dag:
    target = int(_endpoint(piece.target, place)[0])
    senders = members[members != target]
    fan_in = len(senders) if piece.fan_in is None else piece.fan_in
    if not 1 <= fan_in <= len(senders):
        raise SpecError(
            what=f"a fan-in of {fan_in}, but {len(senders)} endpoints can send",
            remedy="lower 'fan_in'",
        )
    return patterns.incast(senders[:fan_in], target, round(piece.size_bytes))


def _storage(piece: Storage, members: NDArray[np.int64]) -> Dag:
    if piece.servers >= len(members):
        raise SpecError(
            what=f"{piece.servers} servers of {len(members)} endpoints leave no client",
            remedy="use fewer",
        )
    return patterns.storage(
        members[: -piece.servers],
        members[-piece.servers :],
        round(piece.size_bytes),
        num_bursts=piece.bursts,
        period_ps=round(piece.period_s * _PS),
    )


def _collective(piece: CollectiveTraffic, members: NDArray[np.int64], place: TrafficContext) -> Dag:
    """Return the collectives of all groups side by side, and repeats one after another."""
    groups = _groups(piece, members)
    once = [_one_group(piece, group, per_node=place.per_node) for group in groups]
    if piece.repeats > 1:
        gap_ps = round(piece.compute_s * _PS)
        once = [
            reduce(lambda done, again: then(done, again, delay_ps=gap_ps), [dag] * piece.repeats)
            for dag in once
        ]
    return beside(once)


def group_size(piece: CollectiveTraffic, num_members: int) -> int:
    """Return how many of *members* do a collective together.

    Raises:
        SpecError: they do not fall into groups of that size.
    """
    size = num_members if piece.group is None else piece.group
    block = size * piece.stride
    if size < 2 or num_members % block:
        raise SpecError(
            what=(
                f"{num_members} endpoints do not fall into groups of {size} with stride "
                f"{piece.stride}"
            ),
            remedy=f"make 'count' a multiple of {block}",
        )
    return size


def _groups(piece: CollectiveTraffic, members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    grid = members.reshape(-1, group_size(piece, len(members)), piece.stride)
    return [grid[row, :, column] for row in range(len(grid)) for column in range(piece.stride)]


def _one_group(piece: CollectiveTraffic, group: NDArray[np.int64], *, per_node: int) -> Dag:
    size_bytes = round(piece.size_bytes)
    nodes = _by_node(group, per_node)
    if piece.operation == "all-reduce" and piece.algorithm != "ring":
        return _all_reduce(piece, group, nodes, size_bytes)

    def orders() -> list[NDArray[np.int64]]:
        even = len({len(members) for members in nodes}) == 1
        return exchange.rail_rings(nodes, piece.channels) if even else [group] * piece.channels

    entry = collective_entry(CollectiveKind(piece.operation.replace("-", "_")))
    return entry.transfers(
        ExchangePlan(
            group=group,
            size_bytes=size_bytes,
            orders=orders,
            slices=piece.slices,
            in_flight=piece.in_flight,
            distances=piece.distances or 0,
        )
    )


def _all_reduce(
    piece: CollectiveTraffic,
    group: NDArray[np.int64],
    nodes: list[NDArray[np.int64]],
    size_bytes: int,
) -> Dag:
    if piece.algorithm == "tree":
        slices = piece.slices or DEFAULT_SLICES
        return double_tree(nodes, size_bytes, channels=piece.channels, slices=slices)
    if piece.algorithm == "halving-doubling":
        return exchange.halving_doubling(group, size_bytes)
    return exchange.hierarchical(nodes, size_bytes, slices=piece.slices or 1)


def _by_node(group: NDArray[np.int64], per_node: int) -> list[NDArray[np.int64]]:
    first = np.flatnonzero(np.diff(group // per_node, prepend=-1))
    return np.split(group, first[1:])
