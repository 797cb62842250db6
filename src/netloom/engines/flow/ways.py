"""What a way is: links, and the share of a flow that each one carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.routing.ragged import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Owner, link or vertex, and share of some pieces of flows.
    Pieces = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

__all__ = ["MAX_ENTRIES", "FlowPaths", "expanded", "joined", "merged"]

# Links on all ways together. The core and numpy need about 64 bytes for each: 16 GiB.
MAX_ENTRIES: Final = 2**28


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowPaths:
    """One way for each flow; way i is ``links[offsets[i]:offsets[i + 1]]``.

    Attributes:
        offsets: Where each way begins, and the end of the last.
        links: Link ids.
        shares: What each link carries of its flow; empty when all carry the whole.
    """

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]
    shares: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def owner(self) -> NDArray[np.int64]:
        """Return the flow that each link of *links* belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def load(self, amount: NDArray[np.float64], *, num_links: int) -> NDArray[np.float64]:
        """Return what each link carries in all when every flow sends *amount*."""
        part = np.repeat(amount, np.diff(self.offsets))
        if len(self.shares):
            part = part * self.shares
        return np.bincount(self.links, part, minlength=num_links).astype(np.float64)


def joined(pieces: list[Pieces], num_flows: int) -> FlowPaths:
    """Put pieces of split flows together, in the order that they are given.

    Raises:
        InfeasibleError: They do not fit in memory.
    """
    check_entries(sum(len(owner) for owner, _, _ in pieces))
    owner = np.concatenate([np.empty(0, np.int64), *(owner for owner, _, _ in pieces)])
    links = np.concatenate([np.empty(0, np.int64), *(link for _, link, _ in pieces)])
    shares = np.concatenate([np.empty(0), *(share for _, _, share in pieces)])
    order = np.argsort(owner, kind="stable")
    offsets = np.zeros(num_flows + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=num_flows), out=offsets[1:])
    return FlowPaths(
        offsets=offsets,
        links=links[order].astype(np.int32),
        shares=shares[order].astype(np.float32),
    )


def check_entries(count: int) -> None:
    """Raise an InfeasibleError when that many links on ways do not fit in memory."""
    if count > MAX_ENTRIES:
        raise InfeasibleError(
            key="flows",
            what=(
                f"split over all their ways they cross {count:,} links together, more than "
                f"the {MAX_ENTRIES:,} that fit in memory"
            ),
            remedy="simulate fewer flows, or hash them (ecmp)",
        )


def expanded(
    owner: NDArray[np.int64],
    share: NDArray[np.float64],
    fan: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
) -> Pieces:
    """Split pieces evenly over their next links, given where those begin and how many they are."""
    start, count, links = fan
    check_entries(int(count.sum()))
    which, position = spans(start, count)
    return owner[which], links[position].astype(np.int64), (share / count)[which]


def merged(pieces: Pieces, *, num_vertices: int) -> Pieces:
    """Add up the pieces of one owner that stand at the same vertex."""
    owner, at, share = pieces
    key, number = np.unique(owner * num_vertices + at, return_inverse=True)
    total = np.zeros(len(key))
    np.add.at(total, number, share)
    return key // num_vertices, key % num_vertices, total
