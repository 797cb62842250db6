"""What a way is: links, and the share of a flow that each one carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from netloom.errors import InfeasibleError
from netloom.fabric.routing.ragged import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Owner, link or vertex, and share of some pieces of flows.
    Pieces = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    # Owner, link, share, and how many links it stands for.
    Entries = tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint32] | None
    ]

__all__ = ["MAX_ENTRIES", "FlowPaths", "expanded", "joined", "merged", "places"]

# Links on all ways together. The core and numpy need about 64 bytes for each: 16 GiB.
MAX_ENTRIES: Final = 2**28

_Scalar = TypeVar("_Scalar", bound=np.generic)


def _none() -> NDArray[np.uint32]:
    return np.empty(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowPaths:
    """One way for each flow; way i is ``links[offsets[i]:offsets[i + 1]]``.

    Links that carry the same share of every flow are a group. Its first link alone is on the ways,
    and stands for all of them.

    Attributes:
        offsets: Where each way begins, and the end of the last.
        links: Link ids.
        shares: What each link carries of its flow; empty when all carry the whole.
        times: How many links each of *links* stands for; empty when each is alone.
        group: Of each link of the network the first link of its group; empty when each is alone.
    """

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]
    shares: NDArray[np.float32]
    times: NDArray[np.uint32] = field(default_factory=_none)
    group: NDArray[np.uint32] = field(default_factory=_none)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def owner(self) -> NDArray[np.int64]:
        """Return the flow that each link of *links* belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def load(self, amount: NDArray[np.float64], *, num_links: int) -> NDArray[np.float64]:
        """Return what each link carries in all when every flow sends *amount*."""
        part = np.repeat(amount, np.diff(self.offsets))
        if len(self.shares):
            part *= self.shares
        return self.of_all(_summed(self.links, part, num_links))

    def of_all(self, of_first: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return for every link what is known of the first of its group."""
        return of_first[self.group] if len(self.group) else of_first

    def crossing(self) -> NDArray[np.float64]:
        """Return what of its flow crosses all the links that each of *links* stands for."""
        if not len(self.shares):
            return np.ones(len(self.links))
        part = self.shares.astype(np.float64)
        return part * self.times if len(self.times) else part

    def take(self, which: NDArray[np.int64], *, parts: int) -> FlowPaths:
        """Return the ways of *which*, each of them *parts* ways that follow one another."""
        ways = places(which * parts, np.full(len(which), parts))
        count = np.diff(self.offsets)[ways]
        at = places(self.offsets[ways], count)
        offsets = np.zeros(len(ways) + 1, dtype=np.int64)
        np.cumsum(count, out=offsets[1:])
        return FlowPaths(
            offsets=offsets,
            links=self.links[at],
            shares=self.shares[at] if len(self.shares) else self.shares,
            times=self.times[at] if len(self.times) else self.times,
            group=self.group,
        )

    def total(self, of_link: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over each way of a number given for each of *links*."""
        return _summed(self.owner(), of_link, len(self))

    def most(self, of_link: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return the largest number on each way; every way has a link."""
        return np.maximum.reduceat(of_link, self.offsets[:-1]) if len(self) else of_link[:0]


def joined(pieces: list[Entries], num_flows: int, *, group: NDArray[np.uint32]) -> FlowPaths:
    """Put pieces of split flows together, in the order that they are given.

    Raises:
        InfeasibleError: They do not fit in memory.
    """
    check_entries(sum(len(owner) for owner, _, _, _ in pieces))
    owner = np.concatenate([np.empty(0, np.int64), *(owner for owner, _, _, _ in pieces)])
    links = np.concatenate([np.empty(0, np.int64), *(link for _, link, _, _ in pieces)])
    shares = np.concatenate([np.empty(0), *(share for _, _, share, _ in pieces)])
    alone = [
        np.ones(len(owner), np.uint32) if times is None else times for owner, _, _, times in pieces
    ]
    order = np.argsort(owner, kind="stable")
    offsets = np.zeros(num_flows + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=num_flows), out=offsets[1:])
    return FlowPaths(
        offsets=offsets,
        links=links[order].astype(np.int32),
        shares=shares[order].astype(np.float32),
        times=np.concatenate([_none(), *alone])[order],
        group=group,
    )


def places(begin: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return begin[0], begin[0] + 1, ...: *count* numbers from each beginning."""
    before = np.cumsum(count) - count
    found: NDArray[np.int64] = np.repeat(begin - before, count)
    found += np.arange(len(found), dtype=np.int64)
    return found


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
    total = _summed(number.reshape(-1), share, len(key))
    return key // num_vertices, key % num_vertices, total


def _summed(
    place: NDArray[np.integer], value: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    return np.bincount(place, value, minlength=count).astype(np.float64, copy=False)
