"""What of a transfer switches hash, and which of an endpoint's ports it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.routing.murmur import five_tuple_hash
from netloom.fabric.wiring.ports import most_ports, num_ports, turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["port_arrays"]


def port_arrays(wiring: PacketTopology, transfers: Transfers, settings: PacketSettings) -> Columns:
    """Return the source port of each transfer, and its turn where endpoints have several ports.

    Without source ports switches see addresses alone; each port of an endpoint has its own.
    """
    turn = _turns(wiring, transfers, striped=settings.striped)
    hashed = transfers.source_port
    if not settings.transport.source_ports:
        hashed = turn % np.uint16(most_ports(wiring)) if len(turn) else np.zeros_like(hashed)
    return {"source_port": hashed, "turn": turn}


def _turns(wiring: PacketTopology, transfers: Transfers, *, striped: bool) -> NDArray[np.uint16]:
    """Return which of several ports each one takes; nothing where none has several."""
    ends = transfers.source, transfers.target
    several = any(int(num_ports(wiring, *way).max(initial=1)) > 1 for way in (ends, ends[::-1]))
    if not several:
        return np.empty(0, dtype=np.uint16)
    if striped:
        return turns(*ends)
    source, target = (end.astype(np.int64) for end in ends)
    hashed = five_tuple_hash(source, target, transfers.source_port, seed=source)
    return (hashed >> np.uint32(16)).astype(np.uint16)
