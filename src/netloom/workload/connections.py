"""Which transfers share a connection: they go one after another, in the order of their starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.workload.transfers import Transfers

__all__ = ["shared_connections"]


def shared_connections(transfers: Transfers, num_parts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the connection of each part of *transfers*; nothing where none is shared.

    Transfers of equal source, target, source port and priority are messages of one queue pair or
    socket, and those are sent in the order in which they were posted (InfiniBand vol. 1, section
    9.5, on the order of work requests; recalled). Where each is cut into parts, the first ones
    share one connection, the second ones another, and so on.
    """
    span = int(max(transfers.source.max(initial=0), transfers.target.max(initial=0))) + 1
    key = transfers.source.astype(np.int64) * span + transfers.target
    key = (key * (1 << 16) + transfers.source_port) * 8 + transfers.priority
    distinct, number = np.unique(key, return_inverse=True)
    if len(distinct) == len(key):
        return np.empty(0, dtype=np.uint32)
    part = np.arange(num_parts.sum()) - np.repeat(np.cumsum(num_parts) - num_parts, num_parts)
    of_part = np.repeat(number.reshape(-1), num_parts) * int(num_parts.max()) + part
    return np.asarray(of_part, dtype=np.uint32)
