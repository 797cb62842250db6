"""Colours of links and of the ways of pairs: equal ones have equal colours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.all_ways import all_ways
from netloom.fabric.wiring.ports import most_ports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.all_ways import PairLinks
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = [
    "both_ways",
    "first_use",
    "hash_refusal",
    "in_turn",
    "link_looks",
    "meeting_places",
    "mixed",
    "pair_looks",
    "refusal",
]

_U64 = np.uint64
_HASHED: Final = frozenset({"ecmp", "flowlet"})


def refusal(wiring: PacketTopology, settings: PacketSettings, faults: Sequence[PacketFault]) -> str:
    """Return why no part of a run is equal to another, whatever is sent; empty where one may be."""
    if settings.spray != "fixed":
        return "senders draw the path of every packet"
    if settings.flow_control == "scheduled" or settings.balance == "cells":
        return "cells of all transfers share all fabric links"
    if most_ports(wiring) > 1:
        return "endpoints have several ports, and transfers take them in turn"
    if any(fault.kind in {"loss", "corrupt"} for fault in faults):
        return "losses are drawn packet by packet"
    return ""


def hash_refusal(ways: PairLinks, settings: PacketSettings) -> str:
    """Return why pairs that take these ways are not equal: hashes differ."""
    hashed = settings.balance in _HASHED and bool(ways.chooses.any())
    return "paths are hashed: no two components are alike" if hashed else ""


def both_ways(
    wiring: PacketTopology, pairs: NDArray[np.int64], settings: PacketSettings
) -> PairLinks:
    """Return the links of each pair there and back, where its answers go."""
    static = settings.balance == "d-mod-k"
    source, target = pairs // wiring.num_vertices, pairs % wiring.num_vertices
    there, back = (
        all_ways(wiring, *ends, static=static) for ends in ((source, target), (target, source))
    )
    pair = np.concatenate([there.pair, back.pair])
    order = np.argsort(pair, kind="stable")
    return replace(
        there,
        pair=pair[order],
        link=np.concatenate([there.link, back.link])[order],
        chooses=np.concatenate([there.chooses, back.chooses])[order],
        goal=np.concatenate([there.goal, back.goal])[order],
        share=np.concatenate([there.share, back.share])[order],
    )


def meeting_places(
    wiring: PacketTopology, ways: PairLinks, settings: PacketSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers of places in which pairs meet, and the pair of each."""
    # Credits are of a link. Other buffers are shared by all that is in a switch. One that chooses
    # links takes turns for each goal.
    at = wiring.link_source[ways.link].astype(np.int64)
    turns = at * wiring.choices.shape[1] + ways.goal + wiring.num_vertices
    shared = settings.flow_control != "credits" and settings.switch.ingress_bytes == 0
    inside = (at >= wiring.num_endpoints) & shared
    switches = wiring.num_links + at[inside]
    place = np.concatenate([ways.link, switches, wiring.num_links + turns[ways.chooses]])
    pair = np.concatenate([ways.pair, ways.pair[inside], ways.pair[ways.chooses]])
    return place, pair


def mixed(*values: NDArray[np.uint64] | NDArray[np.int64] | int) -> NDArray[np.uint64]:
    """Return a colour of columns: SplitMix64's finish after each."""
    z = np.asarray(_U64(0x9E3779B97F4A7C15))
    with np.errstate(over="ignore"):
        for value in values:
            z = z + np.asarray(value).astype(_U64)
            z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
            z = (z ^ (z >> _U64(31))) + _U64(0x9E3779B97F4A7C15)
    return z


def first_use(group: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row its key's number in its group, counted in the order of first rows."""
    whole = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    both = group * (int(whole.max(initial=0)) + 1) + whole
    _, first, number = np.unique(both, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    begin = np.searchsorted(group[first[order]], group[first[order]])
    rank[order] = np.arange(len(first)) - begin
    return np.asarray(rank[number.reshape(-1)])


def in_turn(
    ways: PairLinks, group: NDArray[np.int64], turn: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of entries by group and turn of their pairs, and the group of each."""
    of_entry = group[ways.pair]
    order = np.lexsort((np.arange(len(of_entry)), turn[ways.pair], of_entry))
    return order, of_entry[order]


def pair_looks(
    wiring: PacketTopology,
    ways: PairLinks,
    looks: NDArray[np.uint64],
    group: NDArray[np.int64],
    turn: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Return how the links of each pair look, and which of its group's they are.

    Args:
        wiring: The network.
        ways: Of the pairs.
        looks: Of each link.
        group: Of each pair.
        turn: Of each pair in its group.
    """
    order, group = in_turn(ways, group, turn)
    link, pair = ways.link[order], ways.pair[order]
    ends = (wiring.link_source[link], wiring.link_target[link])
    look = mixed(
        looks[link],
        first_use(group, link),
        *(first_use(group, end.astype(np.int64)) for end in ends),
        ways.chooses[order].astype(np.int64),
    )
    begin = np.flatnonzero(np.diff(pair, prepend=-1))
    hop = np.arange(len(pair)) - np.repeat(begin, np.diff(np.append(begin, len(pair))))
    with np.errstate(over="ignore"):
        total = np.add.reduceat(mixed(look, hop), begin)
    found = np.zeros(len(turn), dtype=_U64)
    found[pair[begin]] = total
    return found


def link_looks(wiring: PacketTopology, faults: Sequence[PacketFault]) -> NDArray[np.uint64]:
    """Return a colour of what each link is like, with the switches at its ends."""
    own = mixed(
        np.rint(wiring.link_rate_bps).astype(np.int64),
        wiring.link_delay_ps,
        wiring.link_scale_up.astype(np.int64),
        wiring.forward_ps[wiring.link_target],
    )
    for fault in faults:
        told = (fault.when_ps, round(fault.rate_bps), *map(ord, fault.kind))
        own[fault.link] = mixed(own[fault.link], *told)
    switch = np.zeros(wiring.num_vertices, dtype=_U64)
    with np.errstate(over="ignore"):
        np.add.at(switch, wiring.link_source, mixed(own, 1))
        np.add.at(switch, wiring.link_target, mixed(own, 2))
    switch[: wiring.num_endpoints] = 0
    return mixed(own, switch[wiring.link_source], switch[wiring.link_target])
