"""A transfer over several connections, each hashed on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.source_ports import mixed_ports
from netloom.workload.transfers import Transfers, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gathered", "spread"]

Times = dict[str, "NDArray[np.int64]"]


def spread(transfers: Transfers, connections: int, *, seed: int = 0) -> Transfers:
    """Return *transfers* with each one cut into as many equal parts, on their own source ports.

    Another seed is another draw of the ports, the same as flows get; seed 0 keeps those given.

    A part waits for all parts of what its transfer waits for. A transfer of fewer bytes than
    *connections* keeps at least one byte a part, and fewer parts are not made: they are 1 byte.
    """
    if connections == 1:
        first = np.zeros(len(transfers), dtype=np.int64)
        return replace(transfers, source_port=mixed_ports(transfers.source_port, first, seed=seed))
    count = len(transfers)
    part = np.tile(np.arange(connections), count)
    whole = np.repeat(np.arange(count), connections)
    share, rest = np.divmod(transfers.size_bytes[whole], connections)
    size = np.maximum(share + (part < rest), 1)
    num_waits = np.repeat(np.diff(transfers.wait_offsets) * connections, connections)
    which = spans(transfers.wait_offsets[whole], transfers.wait_offsets[whole + 1])
    waits = transfers.waits[which, None].astype(np.int64) * connections + np.arange(connections)
    return Transfers(
        source=transfers.source[whole],
        target=transfers.target[whole],
        size_bytes=size,
        start_ps=transfers.start_ps[whole],
        delay_ps=transfers.delay_ps[whole],
        source_port=mixed_ports(transfers.source_port[whole], part, seed=seed),
        priority=transfers.priority[whole],
        job=transfers.job[whole],
        wait_offsets=np.concatenate([[0], np.cumsum(num_waits)]),
        waits=waits.reshape(-1).astype(np.int32),
    )


def gathered(times: Times, flows: Transfers, transfers: Transfers) -> Times:
    """Return the times of *transfers* from those of their parts: first start, last arrival."""
    if len(flows) == len(transfers):
        return times
    grouped = {name: column.reshape(len(transfers), -1) for name, column in times.items()}
    never = {name: (column < 0).any(axis=1) for name, column in grouped.items()}
    last = {
        name: np.where(never[name], -1, grouped[name].max(axis=1))
        for name in ("arrive_ps", "finish_ps")
    }
    return {"start_ps": grouped["start_ps"].min(axis=1), **last}
