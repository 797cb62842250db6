"""How many transfers a scenario's traffic is, before any of them is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.errors import at
from netloom.spec.traffic import (
    CollectiveTraffic,
    FlowFile,
    Incast,
    OneToOne,
    OpenLoop,
    Permutation,
    Storage,
)
from netloom.study.simulate.traffic import DEFAULT_SLICES, group_size, members_of
from netloom.workload.exchange import IN_FLIGHT
from netloom.workload.sizes import distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.spec.traffic import Traffic
    from netloom.study.simulate.traffic import TrafficContext

__all__ = ["Size", "size_of"]

_LINE_BYTES: Final = 6  # the shortest line of a file of flows: "0,1,1" and its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much traffic there is.

    Attributes:
        transfers: Messages, before they are spread over connections.
        waits: Pairs of which one waits for the other.
    """

    transfers: int
    waits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Once:
    """A collective of one group, once: its size, and per member what begins it and what ends it."""

    transfers: int
    waits: int
    begins: int = 1
    ends: int = 1


def size_of(traffic: Sequence[Traffic], place: TrafficContext) -> Size:
    """Return how many transfers and waits *traffic* is at most; open-loop traffic but for chance.

    Raises:
        SpecError: a piece names endpoints that are not there, or cannot be done with that number.
    """
    sizes = []
    for number, piece in enumerate(traffic):
        with at(f"traffic.{number}"):
            sizes.append(_piece(piece, place))
    return Size(
        transfers=sum(size.transfers for size in sizes), waits=sum(size.waits for size in sizes)
    )


def _piece(piece: Traffic, place: TrafficContext) -> Size:
    match piece:
        case OneToOne():
            return Size(transfers=1)
        case FlowFile():
            return Size(transfers=_file_bytes(piece.file) // _LINE_BYTES)
        case CollectiveTraffic():
            return _collective(piece, place)
        case _:
            return _plain(piece, place)


def _plain(piece: Incast | Storage | OpenLoop | Permutation, place: TrafficContext) -> Size:
    members = len(members_of(piece, place))
    match piece:
        case Incast():
            return Size(transfers=members if piece.fan_in is None else piece.fan_in)
        case Storage():
            return Size(transfers=piece.bursts * max(members - piece.servers, 0) * piece.servers)
        case OpenLoop():
            rate_per_s = (
                piece.load * place.rate_bps / distribution(piece.distribution).mean_bytes / 8
            )
            mean = members * piece.duration_s * rate_per_s
            return Size(transfers=math.ceil(mean + 6 * math.sqrt(mean)))  # six sigma of a Poisson
        case Permutation():
            return Size(transfers=members)


def _file_bytes(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0  # reading it says what is wrong


def _collective(piece: CollectiveTraffic, place: TrafficContext) -> Size:
    members = len(members_of(piece, place))
    ranks = group_size(piece, members)
    once = _once(piece, ranks, per_node=place.per_node)
    groups = members // ranks
    joints = (piece.repeats - 1) * ranks * once.begins * once.ends
    return Size(
        transfers=groups * piece.repeats * once.transfers,
        waits=groups * (piece.repeats * once.waits + joints),
    )


def _once(piece: CollectiveTraffic, ranks: int, *, per_node: int) -> _Once:
    slices = piece.slices or DEFAULT_SLICES
    if piece.operation == "all-to-all":
        turns = min(piece.distances or ranks - 1, ranks - 1)
        begins = min(piece.in_flight or turns, turns)
        count = ranks * turns
        return _Once(transfers=count, waits=count - ranks * begins, begins=begins, ends=begins)
    if piece.operation in {"gather", "scatter"}:
        return _Once(transfers=ranks - 1, waits=0, begins=0, ends=0)
    if piece.operation in {"broadcast", "reduce"}:
        count = (ranks - 1) * slices
        return _Once(transfers=count, waits=2 * count, begins=1, ends=min(slices, IN_FLIGHT))
    if piece.operation == "send-recv":
        return _Once(transfers=ranks, waits=0)
    if piece.operation == "all-reduce" and piece.algorithm != "ring":
        return _all_reduce(piece, ranks, per_node=per_node)
    laps = 2 if piece.operation == "all-reduce" else 1
    return _ring(ranks, laps=laps, channels=piece.channels, slices=piece.slices or 1)


def _ring(ranks: int, *, laps: int, channels: int, slices: int) -> _Once:
    count = laps * (ranks - 1) * ranks * channels * slices
    begins, ends = channels * min(slices, IN_FLIGHT), channels * slices
    return _Once(transfers=count, waits=count, begins=begins, ends=ends)


def _all_reduce(piece: CollectiveTraffic, ranks: int, *, per_node: int) -> _Once:
    if piece.algorithm == "halving-doubling":
        count = 2 * ranks * max(ranks.bit_length() - 1, 0)
        return _Once(transfers=count, waits=count)
    if piece.algorithm == "tree":
        slices = piece.slices or DEFAULT_SLICES
        count = 4 * piece.channels * (ranks - 1) * slices
        return _Once(transfers=count, waits=2 * count, begins=2 * piece.channels, ends=slices)
    slices = piece.slices or 1
    width = min(per_node, ranks)
    nodes = max(ranks // width, 1)
    inside = _ring(width, laps=2, channels=nodes, slices=slices).transfers
    between = _ring(nodes, laps=2, channels=width, slices=slices).transfers
    joints = 2 * ranks * slices * min(slices, IN_FLIGHT)
    return _Once(transfers=inside + between, waits=inside + between + joints, ends=slices)
