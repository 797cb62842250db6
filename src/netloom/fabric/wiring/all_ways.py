"""Every link that a transfer may take between two endpoints of a wiring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.wiring.digits import digits
from netloom.fabric.wiring.paths import MAX_HOPS, Doors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["PairLinks", "all_ways"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairLinks:
    """The links of pairs, in the order of hops and, in a hop, of the wiring's sets.

    Attributes:
        pair: Of each entry.
        link: That the pair may take.
        chooses: Whether it is one of several next links.
        goal: Of the endpoint that the pair goes to.
        share: What of the pair takes the link, where every vertex spreads what comes to it evenly
            over its next links.
    """

    pair: NDArray[np.int64]
    link: NDArray[np.int64]
    chooses: NDArray[np.bool_]
    goal: NDArray[np.int64]
    share: NDArray[np.float64]


def all_ways(
    wiring: PacketTopology,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    *,
    static: bool = False,
) -> PairLinks:
    """Return every link on a shortest way of each pair, or those of its *static* route (d-mod-k).

    Raises:
        InfeasibleError: two endpoints cannot reach each other.
    """
    walk = _Walk(wiring, static=static)
    pair, at = np.arange(len(source)), source.astype(np.int64)
    comes = np.ones(len(source))
    found: list[_Hop] = []
    for _ in range(MAX_HOPS):
        if not len(pair):
            break
        row, link, chooses = walk.next(at, target[pair])
        share = (comes / np.bincount(row, minlength=len(at)))[row]
        found.append((pair[row], link, chooses, share))
        pair, at = pair[row], wiring.link_target[link].astype(np.int64)
        key = pair * wiring.num_vertices + at
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        comes = np.asarray(np.bincount(place.reshape(-1), share), dtype=np.float64)
        order = np.argsort(first)
        first, comes = first[order], comes[order]
        going = at[first] != target[pair[first]]
        pair, at, comes = pair[first[going]], at[first[going]], comes[going]
    columns = zip(*found, strict=True)
    pairs, links, choose, shares = (np.concatenate(column) for column in columns)
    order = np.argsort(pairs, kind="stable")
    return PairLinks(
        pair=pairs[order],
        link=links[order],
        chooses=choose[order],
        goal=wiring.goal[target[pairs[order]]].astype(np.int64),
        share=shares[order],
    )


# Of each next link of a hop: pair, link, whether there was a choice, share.
_Hop = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.bool_]", "NDArray[np.float64]"]


class _Walk:
    """The next links from vertices towards endpoints."""

    def __init__(self, wiring: PacketTopology, *, static: bool) -> None:
        self._wiring = wiring
        self._doors = Doors.of(wiring)
        self._digits = digits(wiring) if static else None

    def next(
        self, at: NDArray[np.int64], end: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the row of each next link, the link, and whether there was a choice."""
        wiring = self._wiring
        number = wiring.choices[at, wiring.goal[end]]
        begin, stop = wiring.offsets[number], wiring.offsets[number + 1]
        only = self._doors.next(at, end)
        if (only < 0).any():
            lost = int(np.flatnonzero(only < 0)[0])
            raise InfeasibleError(
                what=f"there is no way to {wiring.name[end[lost]]}", remedy="restore a link"
            )
        direct = wiring.link_target[only] == end
        links = wiring.links
        if self._digits is not None:
            links, count = self._digits.links, np.maximum(stop - begin, 1)
            divisor = self._digits.divisor[links[np.minimum(begin, len(links) - 1)]]
            only = links[begin + self._digits.number[end] // divisor % count * (stop > begin)]
            only = np.where(direct, self._doors.next(at, end), only).astype(np.int64)
        single = direct | (self._digits is not None)
        length = np.where(single, 1, stop - begin)
        row = np.repeat(np.arange(len(at)), length)
        place = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
        taken = links[np.minimum(begin[row] + place, len(links) - 1)]
        link = np.where(single[row], only[row], taken).astype(np.int64)
        return row, link, (length > 1)[row]
