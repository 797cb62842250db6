"""What a collective is to the engines: its closed form and its transfers, and the register."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from netloom.workload.collective import CollectiveKind
    from netloom.workload.dag import Dag

__all__ = ["COLLECTIVES", "CollectiveEntry", "ExchangePlan", "collective_entry"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExchangePlan:
    """One group that exchanges.

    Attributes:
        group: The endpoints, in order.
        size_bytes: As nccl-tests counts it.
        orders: Returns the rings to use, each with the endpoints in the order it visits them.
        slices: Pieces that are forwarded on their own; None for the collective's own number.
        in_flight: Messages a rank has on their way at a time; 0 for all at once.
        distances: Distances of an all-to-all that are sent, each for those around it; 0 for all.
    """

    group: NDArray[np.int64]
    size_bytes: int
    orders: Callable[[], Sequence[NDArray[np.int64]]]
    slices: int | None = None
    in_flight: int = 0
    distances: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveEntry:
    """One collective; every trait must be given. Its functions take the number of ranks.

    Attributes:
        name: The value of its ``CollectiveKind``; scenarios write it with hyphens.
        bus_factor: Bus bandwidth over algorithm bandwidth: nccl-tests PERFORMANCE.md.
        ring_steps: Hops that a piece of data makes around a ring.
        ring_bytes: What a node sends over the network in a ring, of a size.
        fill_share: The share of an all-reduce's fill steps that its ring takes.
        is_reducing: Whether each rank ends with the sum of all: trees and switches that add up
            serve it.
        is_sharded: Whether each rank begins or ends with one part of the whole.
        is_direct: Whether each message goes straight to its target, with no algorithm to choose.
        has_partners: Whether a rank of a direct one talks to all others, and not to one alone.
        is_rooted: Whether each message of a direct one comes from one rank or goes to it.
        counts_gathered: Whether its size is n times what one rank puts in.
        chakra_code: ``CollectiveCommType`` of et_def.proto; None where it is no collective there.
        transfers: Returns its messages, which wait for one another.
    """

    name: str
    bus_factor: Callable[[int], float]
    ring_steps: Callable[[int], int]
    ring_bytes: Callable[[float, int], float]
    fill_share: float
    is_reducing: bool
    is_sharded: bool
    is_direct: bool
    has_partners: bool
    is_rooted: bool
    counts_gathered: bool
    chakra_code: int | None
    transfers: Callable[[ExchangePlan], Dag]


COLLECTIVES: Final = Register[CollectiveEntry](
    kind="collective", traits=CollectiveEntry, home="netloom.workload.collectives"
)


@cache
def collective_entry(kind: CollectiveKind) -> CollectiveEntry:
    """Return the entry of *kind*."""
    return COLLECTIVES.get(kind.value)
