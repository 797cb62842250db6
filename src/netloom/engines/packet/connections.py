"""A transfer over several connections, each hashed on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.source_ports import mixed_ports
from netloom.fabric.wiring.ports import stripes
from netloom.workload.transfers import Transfers, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["gathered", "num_connections", "num_parts", "spread"]

Times = dict[str, "NDArray[np.int64]"]


def spread(transfers: Transfers, connections: int, *, seed: int = 0) -> Transfers:
    """Return *transfers* with each one cut into as many equal parts, on their own source ports.

    Another seed is another draw of the ports, the same as flows get; seed 0 keeps those given.

    A part waits for all parts of what its transfer waits for. A transfer of fewer bytes than
    *connections* is cut into single bytes: the bytes of its parts are always its own.
    """
    if connections == 1:
        first = np.zeros(len(transfers), dtype=np.int64)
        return replace(transfers, source_port=mixed_ports(transfers.source_port, first, seed=seed))
    count = num_parts(transfers, connections)
    begin = np.cumsum(count) - count
    whole = np.repeat(np.arange(len(transfers)), count)
    part = np.arange(len(whole)) - begin[whole]
    share, rest = np.divmod(transfers.size_bytes[whole], count[whole])
    which = spans(transfers.wait_offsets[whole], transfers.wait_offsets[whole + 1])
    waited = transfers.waits[which].astype(np.int64)
    first_wait = np.concatenate([[0], np.cumsum(count[waited])])
    num_waits = np.diff(transfers.wait_offsets)[whole]
    return Transfers(
        source=transfers.source[whole],
        target=transfers.target[whole],
        size_bytes=share + (part < rest),
        start_ps=transfers.start_ps[whole],
        delay_ps=transfers.delay_ps[whole],
        source_port=mixed_ports(transfers.source_port[whole], part, seed=seed),
        priority=transfers.priority[whole],
        job=transfers.job[whole],
        wait_offsets=first_wait[np.concatenate([[0], np.cumsum(num_waits)])],
        waits=spans(begin[waited], begin[waited] + count[waited]).astype(np.int32),
    )


def num_connections(wiring: PacketTopology, transfers: Transfers, settings: PacketSettings) -> int:
    """Return over how many connections each transfer goes: as many on every port of an endpoint.

    A sender that sprays chooses the port packet by packet, and needs no more than it was given.
    """
    if settings.spray != "fixed" or not settings.striped or not len(transfers):
        return settings.connections
    return stripes(wiring, transfers.source, transfers.target, connections=settings.connections)


def num_parts(transfers: Transfers, connections: int) -> NDArray[np.int64]:
    """Return into how many parts each transfer is cut: no part is without a byte.

    A computation is one part, and has none.
    """
    return np.maximum(np.minimum(transfers.size_bytes, connections), 1)


def gathered(times: Times, transfers: Transfers, connections: int) -> Times:
    """Return the times of *transfers* from those of their parts: first start, last arrival."""
    if connections == 1 or not len(transfers):
        return times
    count = num_parts(transfers, connections)
    begin = np.cumsum(count) - count
    never = {name: np.minimum.reduceat(column, begin) < 0 for name, column in times.items()}
    last = {
        name: np.where(never[name], -1, np.maximum.reduceat(times[name], begin))
        for name in ("arrive_ps", "finish_ps")
    }
    return {"start_ps": np.minimum.reduceat(times["start_ps"], begin), **last}
