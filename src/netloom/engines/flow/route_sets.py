"""Which transfers take the same ways: they are routed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.wiring.ports import repeats_every
from netloom.fabric.wiring.wiring import PacketTopology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.routes import Ground
    from netloom.engines.flow.settings import FlowSettings
    from netloom.workload.transfers import Transfers

__all__ = ["RouteSets", "route_sets"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteSets:
    """Transfers by the ways that they take, in order of first use.

    Attributes:
        parts: Ways of each set.
        first: The first transfer of each set.
        number: The set of each transfer.
        connection: Of each transfer, where some share theirs; else empty.
    """

    parts: int
    first: NDArray[np.int64]
    number: NDArray[np.int64]
    connection: NDArray[np.uint32]


def route_sets(
    on: Ground, transfers: Transfers, settings: FlowSettings, *, parts: int
) -> RouteSets:
    """Return which of *transfers* take the same ways, as *parts* flows each.

    Split flows go by their two ends, hashed ones by their connection too. Weights belong to a
    set, so that priorities are told apart. Transfers of equal source, target, source port and
    priority are messages of one queue pair or socket, and go in the order in which they were
    posted (InfiniBand vol. 1, section 9.5, on the order of work requests; recalled).
    """
    ends = transfers.source.astype(np.int64) * on.num_endpoints + transfers.target
    key = (ends * (1 << 16) + transfers.source_port) * 8 + transfers.priority
    first, number = _numbered(key)
    shared = len(first) < len(key)
    connection = number.astype(np.uint32) if shared else np.empty(0, dtype=np.uint32)
    if settings.splits:
        first, number = _numbered(ends * 8 + transfers.priority)
    elif isinstance(on.routes, PacketTopology) and not repeats_every(on.routes, parts):
        # Messages of one connection take the ports of their endpoints in turn.
        first = number = np.arange(len(key))
    return RouteSets(parts=parts, first=first, number=number, connection=connection)


def _numbered(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct key stands first, ascending, and the number of each key."""
    order = np.argsort(key, kind="stable")
    fresh = np.ones(len(key), dtype=np.bool_)
    ordered = key[order]
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    if fresh.all():
        return np.arange(len(key)), np.arange(len(key))
    first = order[fresh]
    by_use = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[by_use] = np.arange(len(first))
    number = np.empty(len(key), dtype=np.int64)
    number[order] = rank[np.cumsum(fresh) - 1]
    return first[by_use], number
