"""The next links of a wiring, those straight to an endpoint among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["Fans"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fans:
    """Next links of a wiring, those straight to an endpoint behind the others.

    Attributes:
        key: Source and target of each straight link as one number, ascending.
        links: The wiring's sets, then the straight links in order of *key*.
    """

    wiring: PacketTopology
    key: NDArray[np.int64]
    links: NDArray[np.int32]

    @classmethod
    def of(cls, wiring: PacketTopology) -> Fans:
        """Return the next links of *wiring*."""
        straight = np.flatnonzero(wiring.link_target < wiring.num_endpoints)
        key = wiring.link_source[straight].astype(np.int64) * wiring.num_vertices
        key += wiring.link_target[straight]
        order = np.argsort(key, kind="stable")
        links = np.concatenate([wiring.links, straight[order].astype(np.int32)])
        return cls(wiring=wiring, key=key[order], links=links)

    def fan(
        self, at: NDArray[np.int64], target: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return where the next links of each query begin, how many they are, and all links.

        Raises:
            InfeasibleError: There are none.
        """
        wiring = self.wiring
        first, num_straight = self.straight(at, target)
        chosen = wiring.choices[at, wiring.goal[target]]
        begin = wiring.offsets[chosen]
        start = np.where(num_straight > 0, first, begin)
        count = np.where(num_straight > 0, num_straight, wiring.offsets[chosen + 1] - begin)
        self.check_found(at, target, count > 0)
        return start, count, self.links

    def straight(
        self, at: NDArray[np.int64], target: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the links straight to each target begin in *links*, and their number."""
        key = at * self.wiring.num_vertices + target
        first = np.searchsorted(self.key, key, side="left")
        count = np.searchsorted(self.key, key, side="right") - first
        return len(self.wiring.links) + first, count

    def joins_endpoint(self, at: NDArray[np.int64], link: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether a link that leaves *at* is a port of an endpoint, at either end."""
        first: int = self.wiring.num_endpoints
        return np.asarray((at < first) | (self.wiring.link_target[link] < first))

    def check_found(
        self, at: NDArray[np.int64], target: NDArray[np.int64], found: NDArray[np.bool_]
    ) -> None:
        """Raise an InfeasibleError that names the first pair for which nothing is *found*."""
        lost = np.flatnonzero(~found)
        if len(lost):
            name = self.wiring.name
            raise InfeasibleError(
                what=(
                    f"{name[int(at[lost[0]])]} to {name[int(target[lost[0]])]}: no path is "
                    f"left ({len(lost)} flows)"
                ),
                remedy="restore a link or switch between them",
            )

    def check_length(self, num_hops: int) -> None:
        """Raise an InfeasibleError when a way visits more vertices than there are."""
        if num_hops > self.wiring.num_vertices:
            raise InfeasibleError(
                key="wiring",
                what="its routes lead round in a circle",
                remedy="correct its sets of next links",
            )
