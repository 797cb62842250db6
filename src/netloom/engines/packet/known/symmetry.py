"""Equal parts of a run, found by colours, so that one of them stands for all.

Two transfers meet where they share a link, or a switch in which they share a buffer or a choice of
links; transfers that meet, directly or through others, are a *component*. Components that are equal
transfer by transfer, in the order in which these are given, do the same at the same time, whatever
the topology, if all that they wait for is equal too. Colours decide that: a transfer's colour is
made of its size, delay, start and priority and of the colours of all that it waits for; a
component's of the colours of its transfers, of the links that these share and of what those links
are like. Colours are made again with the components' own in them until no more are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.all_ways import all_ways
from netloom.fabric.wiring.ports import most_ports
from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.all_ways import PairLinks
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["Folded", "fold"]

MAX_ROUNDS: Final = 16
_U64 = np.uint64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folded:
    """Transfers of which equal ones are left out.

    Attributes:
        transfers: Those that are left.
        stands_in: For each transfer of the whole, the one of these that stands for it.
        link: For each link, the one that stands for it.
        num_components: Parts that share no link.
        num_kept: Of these, how many are left.
        reason: Why nothing is left out; empty where something is.
    """

    transfers: Transfers
    stands_in: NDArray[np.int64]
    link: NDArray[np.int64]
    num_components: int
    num_kept: int
    reason: str = ""


def fold(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    faults: Sequence[PacketFault] = (),
) -> Folded:
    """Return *transfers* with one component left of those that are equal."""
    reason = _refusal(wiring, settings, faults)
    if reason:
        return _whole(wiring, transfers, reason)
    sends = np.flatnonzero(transfers.size_bytes > 0)
    key = transfers.source[sends].astype(np.int64) * wiring.num_vertices + transfers.target[sends]
    pairs, pair_of = np.unique(key, return_inverse=True)
    ways = _both_ways(wiring, pairs, settings)
    if settings.balance in _HASHED and ways.chooses.any():
        return _whole(wiring, transfers, "paths are hashed: no two components are alike")
    component = _components(wiring, ways, len(pairs), settings)[pair_of.reshape(-1)]
    parts = _ComponentRows.of(transfers, sends, pair_of.reshape(-1), component)
    looks = _pair_looks(wiring, ways, parts, faults)
    colours, kinds = _refined(transfers, parts, looks)
    return _folded(wiring, transfers, parts, (colours, kinds), ways)


_HASHED: Final = frozenset({"ecmp", "flowlet"})


def _refusal(
    wiring: PacketTopology, settings: PacketSettings, faults: Sequence[PacketFault]
) -> str:
    if settings.spray != "fixed":
        return "senders draw the path of every packet"
    if settings.flow_control == "scheduled" or settings.balance == "cells":
        return "cells of all transfers share all fabric links"
    if most_ports(wiring) > 1:
        return "endpoints have several ports, and transfers take them in turn"
    if any(fault.kind in {"loss", "corrupt"} for fault in faults):
        return "losses are drawn packet by packet"
    return ""


def _whole(wiring: PacketTopology, transfers: Transfers, reason: str) -> Folded:
    return Folded(
        transfers=transfers,
        stands_in=np.arange(len(transfers)),
        link=np.arange(wiring.num_links),
        num_components=1,
        num_kept=1,
        reason=reason,
    )


def _both_ways(
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
    )


def _components(
    wiring: PacketTopology, ways: PairLinks, num_pairs: int, settings: PacketSettings
) -> NDArray[np.int64]:
    """Return the component of each pair: pairs that share a link, or a switch that joins them."""
    # Credits are of a link. Other buffers are shared by all that is in a switch. One that chooses
    # links takes turns for each goal.
    at = wiring.link_source[ways.link].astype(np.int64)
    turns = at * wiring.choices.shape[1] + ways.goal + wiring.num_vertices
    shared = settings.flow_control != "credits" and settings.switch.ingress_bytes == 0
    inside = (at >= wiring.num_endpoints) & shared
    switches = wiring.num_links + at[inside]
    meets = np.concatenate([ways.link, switches, wiring.num_links + turns[ways.chooses]])
    owner = np.concatenate([ways.pair, ways.pair[inside], ways.pair[ways.chooses]])
    both = np.stack([meets, owner])
    both = both[:, np.lexsort((owner, meets))]
    again = (np.diff(both, axis=1, prepend=-1) == 0).all(axis=0)
    return _joined(both[1, ~again], both[0, ~again], num_pairs)


def _joined(
    owner: NDArray[np.int64], place: NDArray[np.int64], num_owners: int
) -> NDArray[np.int64]:
    """Return for each owner the first of all that it shares a place with, through others too."""
    parent = list(range(num_owners))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    seen: dict[int, int] = {}
    for one, where in zip(owner.tolist(), place.tolist(), strict=True):
        other = seen.setdefault(where, one)
        a, b = root(one), root(other)
        if a != b:
            parent[max(a, b)] = min(a, b)
    return np.array([root(one) for one in range(num_owners)], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ComponentRows:
    """Transfers that send, component by component, in their order.

    Attributes:
        row: Which transfers.
        component: Of each, counted from 0.
        place: Of each in its component.
        pair: Of each.
        pair_place: Of its pair among those of the component, by first use.
        connection: Of its connection, likewise.
        number: For each pair its component, and its place in it.
    """

    row: NDArray[np.int64]
    component: NDArray[np.int64]
    place: NDArray[np.int64]
    pair: NDArray[np.int64]
    pair_place: NDArray[np.int64]
    connection: NDArray[np.int64]
    num_components: int

    @classmethod
    def of(
        cls,
        transfers: Transfers,
        sends: NDArray[np.int64],
        pair: NDArray[np.int64],
        component: NDArray[np.int64],
    ) -> _ComponentRows:
        _, number = np.unique(component, return_inverse=True)
        number = number.reshape(-1)
        order = np.argsort(number, kind="stable")
        row, number, pair = sends[order], number[order], pair[order]
        begin = np.searchsorted(number, np.arange(int(number[-1]) + 1))
        port = transfers.source_port[row].astype(np.int64) * 8 + transfers.priority[row]
        return cls(
            row=row,
            component=number,
            place=np.arange(len(row)) - begin[number],
            pair=pair,
            pair_place=_first_use(number, pair),
            connection=_first_use(number, pair * (1 << 19) + port),
            num_components=len(begin),
        )


def _first_use(group: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row its key's number in its group, counted in the order of first rows."""
    whole = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    both = group * (int(whole.max(initial=0)) + 1) + whole
    _, first, number = np.unique(both, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    begin = np.searchsorted(group[first[order]], group[first[order]])
    rank[order] = np.arange(len(first)) - begin
    return np.asarray(rank[number.reshape(-1)])


def _mixed(*values: NDArray[np.uint64] | NDArray[np.int64] | int) -> NDArray[np.uint64]:
    """Return a colour of columns: SplitMix64's finish after each."""
    z = np.asarray(_U64(0x9E3779B97F4A7C15))
    with np.errstate(over="ignore"):
        for value in values:
            z = z + np.asarray(value).astype(_U64)
            z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
            z = (z ^ (z >> _U64(31))) + _U64(0x9E3779B97F4A7C15)
    return z


def _pair_looks(
    wiring: PacketTopology, ways: PairLinks, parts: _ComponentRows, faults: Sequence[PacketFault]
) -> NDArray[np.uint64]:
    """Return of each transfer how its pair's links look, and which of the component's they are."""
    used, first = np.unique(parts.pair, return_index=True)
    component = np.full(int(ways.pair.max(initial=0)) + 1, -1, dtype=np.int64)
    component[used] = parts.component[first]
    turn = np.zeros(len(component), dtype=np.int64)
    turn[used] = parts.pair_place[first]
    group = component[ways.pair]
    order = np.lexsort((np.arange(len(group)), turn[ways.pair], group))
    group, link, pair = group[order], ways.link[order], ways.pair[order]
    ends = (wiring.link_source[link], wiring.link_target[link])
    look = _mixed(
        _link_looks(wiring, faults)[link],
        _first_use(group, link),
        *(_first_use(group, end.astype(np.int64)) for end in ends),
        ways.chooses[order].astype(np.int64),
    )
    begin = np.flatnonzero(np.diff(pair, prepend=-1))
    hop = np.arange(len(pair)) - np.repeat(begin, np.diff(np.append(begin, len(pair))))
    with np.errstate(over="ignore"):
        total = np.add.reduceat(_mixed(look, hop), begin)
    found = np.zeros(len(component), dtype=_U64)
    found[pair[begin]] = total
    return found[parts.pair]


def _link_looks(wiring: PacketTopology, faults: Sequence[PacketFault]) -> NDArray[np.uint64]:
    """Return a colour of what each link is like, with the switches at its ends."""
    own = _mixed(
        np.rint(wiring.link_rate_bps).astype(np.int64),
        wiring.link_delay_ps,
        wiring.link_scale_up.astype(np.int64),
        wiring.forward_ps[wiring.link_target],
    )
    for fault in faults:
        told = (fault.when_ps, round(fault.rate_bps), *map(ord, fault.kind))
        own[fault.link] = _mixed(own[fault.link], *told)
    switch = np.zeros(wiring.num_vertices, dtype=_U64)
    with np.errstate(over="ignore"):
        np.add.at(switch, wiring.link_source, _mixed(own, 1))
        np.add.at(switch, wiring.link_target, _mixed(own, 2))
    switch[: wiring.num_endpoints] = 0
    return _mixed(own, switch[wiring.link_source], switch[wiring.link_target])


def _refined(
    transfers: Transfers, parts: _ComponentRows, looks: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the colour of each transfer, and of each component, once none is told apart more."""
    priority = transfers.priority.astype(np.int64)
    own = _mixed(transfers.size_bytes, transfers.delay_ps, transfers.start_ps, priority)
    begin = np.searchsorted(parts.component, np.arange(parts.num_components))
    order = _Levels.of(transfers)
    count, kinds = (0, 0), np.zeros(parts.num_components, dtype=_U64)
    colours = own
    for _ in range(MAX_ROUNDS):
        colours = order.coloured(own)
        of_row = _mixed(colours[parts.row], parts.place, parts.pair_place, parts.connection, looks)
        with np.errstate(over="ignore"):
            kinds = np.add.reduceat(of_row, begin)
        found = _num_distinct(kinds), _num_distinct(colours)
        if found == count:
            break
        count = found
        own[parts.row] = _mixed(own[parts.row], kinds[parts.component], parts.place)
    return colours, kinds


def _num_distinct(values: NDArray[np.uint64]) -> int:
    ordered = np.sort(values)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(len(ordered), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levels:
    """Transfers in an order in which each comes after all that it waits for.

    Attributes:
        rows: Of each level.
    """

    transfers: Transfers
    rows: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, transfers: Transfers) -> _Levels:
        left = np.diff(transfers.wait_offsets)
        waiting = np.repeat(np.arange(len(transfers), dtype=np.int64), left)
        order = np.argsort(transfers.waits, kind="stable")
        followers = waiting[order]
        begin = np.searchsorted(transfers.waits[order], np.arange(len(transfers) + 1))
        ready = np.flatnonzero(left == 0)
        levels = []
        while len(ready):
            levels.append(ready)
            reached = followers[spans(begin[ready], begin[ready + 1])]
            candidates, times = np.unique(reached, return_counts=True)
            left[candidates] -= times
            ready = candidates[left[candidates] == 0]
        return cls(transfers=transfers, rows=tuple(levels))

    def coloured(self, own: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return colours of what each is and of all that it waits for."""
        found = own.copy()
        offsets, waits = self.transfers.wait_offsets, self.transfers.waits
        for rows in self.rows[1:]:
            begin, end = offsets[rows], offsets[rows + 1]
            with np.errstate(over="ignore"):
                before = _mixed(found[waits[spans(begin, end)]])
                total = np.add.reduceat(before, np.cumsum(end - begin) - (end - begin))
            found[rows] = _mixed(own[rows], total)
        return found


def _folded(
    wiring: PacketTopology,
    transfers: Transfers,
    parts: _ComponentRows,
    coloured: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    ways: PairLinks,
) -> Folded:
    colours, kinds = coloured
    _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
    chosen = first[kind.reshape(-1)]  # the component that stands for each
    begin = np.searchsorted(parts.component, np.arange(parts.num_components))
    image = np.arange(len(transfers))
    image[parts.row] = parts.row[begin[chosen[parts.component]] + parts.place]
    computes = np.flatnonzero(transfers.size_bytes == 0)
    _, one, which = np.unique(colours[computes], return_index=True, return_inverse=True)
    image[computes] = computes[one[which.reshape(-1)]]
    keep = np.flatnonzero(image == np.arange(len(transfers)))
    number = np.full(len(transfers), -1, dtype=np.int64)
    number[keep] = np.arange(len(keep))
    return Folded(
        transfers=_kept(transfers, keep, number[image]),
        stands_in=number[image],
        link=_link_images(wiring, parts, chosen, ways),
        num_components=parts.num_components,
        num_kept=len(first),
        reason=_unequal(parts.num_components) if len(first) == parts.num_components else "",
    )


def _unequal(num_components: int) -> str:
    if num_components == 1:
        return "there is one: all share links, or the buffers of switches"
    return "no two are equal"


def _kept(transfers: Transfers, keep: NDArray[np.int64], stands_in: NDArray[np.int64]) -> Transfers:
    begin, end = transfers.wait_offsets[keep], transfers.wait_offsets[keep + 1]
    owner = np.repeat(np.arange(len(keep)), end - begin)
    waited = stands_in[transfers.waits[spans(begin, end)]]
    both = np.sort(owner * len(keep) + waited)
    both = both[np.diff(both, prepend=-1) != 0]
    owner, waited = both // len(keep), both % len(keep)
    count = np.bincount(owner, minlength=len(keep))
    return transfers.rows(keep, count, waited)


def _link_images(
    wiring: PacketTopology, parts: _ComponentRows, chosen: NDArray[np.int64], ways: PairLinks
) -> NDArray[np.int64]:
    """Return the link that stands for each: that of equal number in the component chosen."""
    image = np.arange(wiring.num_links)
    used, first = np.unique(parts.pair, return_index=True)
    component = np.full(int(ways.pair.max(initial=0)) + 1, -1, dtype=np.int64)
    component[used] = parts.component[first]
    turn = np.zeros(len(component), dtype=np.int64)
    turn[used] = parts.pair_place[first]
    group = component[ways.pair]
    order = np.lexsort((np.arange(len(group)), turn[ways.pair], group))
    group, link = group[order], ways.link[order]
    begin = np.searchsorted(group, np.arange(parts.num_components))
    place = np.arange(len(group)) - begin[group]
    image[link] = link[begin[chosen[group]] + place]
    return image
