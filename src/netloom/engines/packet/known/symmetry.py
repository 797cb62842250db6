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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.apart.joined import joined
from netloom.engines.packet.known.colours import (
    both_ways,
    first_use,
    hash_refusal,
    in_turn,
    link_looks,
    meeting_places,
    mixed,
    pair_looks,
    refusal,
)
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
    reason = refusal(wiring, settings, faults)
    if reason:
        return _whole(wiring, transfers, reason)
    sends = np.flatnonzero(transfers.size_bytes > 0)
    key = transfers.source[sends].astype(np.int64) * wiring.num_vertices + transfers.target[sends]
    pairs, pair_of = np.unique(key, return_inverse=True)
    ways = both_ways(wiring, pairs, settings)
    if reason := hash_refusal(ways, settings):
        return _whole(wiring, transfers, reason)
    component = _components(wiring, ways, len(pairs), settings)[pair_of.reshape(-1)]
    parts = _ComponentRows.of(transfers, sends, pair_of.reshape(-1), component)
    looks = pair_looks(wiring, ways, link_looks(wiring, faults), *parts.of_pairs(len(pairs)))
    colours, kinds = _refined(transfers, parts, looks[parts.pair])
    return _folded(wiring, transfers, parts, (colours, kinds), ways)


def _whole(wiring: PacketTopology, transfers: Transfers, reason: str) -> Folded:
    return Folded(
        transfers=transfers,
        stands_in=np.arange(len(transfers)),
        link=np.arange(wiring.num_links),
        num_components=1,
        num_kept=1,
        reason=reason,
    )


def _components(
    wiring: PacketTopology, ways: PairLinks, num_pairs: int, settings: PacketSettings
) -> NDArray[np.int64]:
    """Return the component of each pair: pairs that share a link, or a switch that joins them."""
    meets, owner = meeting_places(wiring, ways, settings)
    order = np.lexsort((owner, meets))
    meets, owner = meets[order], owner[order]
    same = meets[1:] == meets[:-1]
    return joined(num_pairs, owner[:-1][same], owner[1:][same])


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
            pair_place=first_use(number, pair),
            connection=first_use(number, pair * (1 << 19) + port),
            num_components=len(begin),
        )

    def of_pairs(self, num_pairs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the component of each pair, and its place in it."""
        used, first = np.unique(self.pair, return_index=True)
        component = np.full(num_pairs, -1, dtype=np.int64)
        component[used] = self.component[first]
        place = np.zeros(num_pairs, dtype=np.int64)
        place[used] = self.pair_place[first]
        return component, place


def _refined(
    transfers: Transfers, parts: _ComponentRows, looks: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the colour of each transfer, and of each component, once none is told apart more."""
    priority = transfers.priority.astype(np.int64)
    own = mixed(transfers.size_bytes, transfers.delay_ps, transfers.start_ps, priority)
    begin = np.searchsorted(parts.component, np.arange(parts.num_components))
    order = _Levels.of(transfers)
    count, kinds = (0, 0), np.zeros(parts.num_components, dtype=_U64)
    colours = own
    for _ in range(MAX_ROUNDS):
        colours = order.coloured(own)
        of_row = mixed(colours[parts.row], parts.place, parts.pair_place, parts.connection, looks)
        with np.errstate(over="ignore"):
            kinds = np.add.reduceat(of_row, begin)
        found = _num_distinct(kinds), _num_distinct(colours)
        if found == count:
            break
        count = found
        own[parts.row] = mixed(own[parts.row], kinds[parts.component], parts.place)
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
                before = mixed(found[waits[spans(begin, end)]])
                total = np.add.reduceat(before, np.cumsum(end - begin) - (end - begin))
            found[rows] = mixed(own[rows], total)
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
    order, group = in_turn(ways, *parts.of_pairs(int(ways.pair.max(initial=0)) + 1))
    link = ways.link[order]
    begin = np.searchsorted(group, np.arange(parts.num_components))
    place = np.arange(len(group)) - begin[group]
    image[link] = link[begin[chosen[group]] + place]
    return image
