"""How long a transfer takes when it has the network to itself, packet by packet in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.fabric.wiring_paths import first_ways

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.wiring import Wiring
    from netloom.workload.transfers import Transfers

__all__ = ["Frames", "alone_ps", "hpcc_alone_ps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """What a message becomes on the wire, and what it waits for at its ends.

    Attributes:
        payload_bytes: Of a full packet.
        header_bytes: What a packet adds, gaps included.
        least_bytes: What the shortest packet takes, gaps included.
        ack_bytes: What an acknowledgement takes, gap included; 0 where none is awaited.
        host_rate_bps: What the sender's software can push; infinite where it is not in the way.
        send_ps: At the sender, before the first bit; nothing where only scale-up links are crossed.
        receive_ps: At the receiver, after the last, likewise; meanwhile the acknowledgement is on
            its way.
        connections: Over which a transfer is spread evenly.
        cut_through: Whether switches send a packet on while its tail still comes in.
    """

    payload_bytes: int
    header_bytes: int
    least_bytes: int
    ack_bytes: int
    host_rate_bps: float
    send_ps: int
    receive_ps: int
    cut_through: bool
    connections: int = 1


def alone_ps(wiring: Wiring, transfers: Transfers, frames: Frames) -> NDArray[np.int64]:
    """Return each transfer's time alone on *wiring*: until it is received and the sender knows.

    The first of equal ways, no window and no rate control: full packets and a last one that may
    be short, each sent on by every switch when the one before it has left. With store-and-forward
    F(k, i), when packet k has left link i, is the larger of F(k, i - 1) and F(k - 1, i), plus the
    packet's own time; full packets keep their distance, so only the last needs the recursion.

    Raises:
        InfeasibleError: two endpoints cannot reach each other.
    """
    source, target = (ends.astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(wiring, source, target)
    inside = (wiring.link_scale_up[ways.links] | (ways.links < 0)).all(axis=1)
    full, last, total = _sizes(transfers.size_bytes, frames)
    left_ps = np.zeros(len(transfers))
    first_ps = np.zeros(len(transfers))
    slowest = np.zeros(len(transfers))
    for hop in range(ways.links.shape[1]):
        there = ways.links[:, hop] >= 0
        rate_bps = wiring.link_rate_bps[ways.links[:, hop]]
        if hop == 0:
            host_bps = np.where(inside, np.inf, frames.host_rate_bps)
            rate_bps = np.minimum(rate_bps, host_bps)
        per_byte = np.where(there, 8e12 / rate_bps, 0.0)
        slowest = np.maximum(slowest, per_byte)
        if frames.cut_through and hop:
            # The head waits for nothing; the tail comes at the pace of the slowest link so far.
            left_ps = np.maximum(left_ps, total * slowest)
            continue
        first_ps = first_ps + full * per_byte
        between = total - full - last  # negative for a single packet
        before_ps = np.where(between >= 0, first_ps + between * slowest, 0.0)
        left_ps = np.where(there, np.maximum(left_ps, before_ps) + last * per_byte, left_ps)
    back_ps = (frames.ack_bytes > 0) * ways.delay_ps + frames.ack_bytes * ways.ps_per_byte
    end_ps = np.maximum(back_ps, np.where(inside, 0, frames.receive_ps))
    begin_ps = np.where(inside, 0, frames.send_ps)
    return np.rint(begin_ps + left_ps + ways.delay_ps + end_ps).astype(np.int64)


def _sizes(
    size_bytes: NDArray[np.int64], frames: Frames
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return what the first packet, the last and all together take on a link, in bytes."""
    part = -(-size_bytes // frames.connections)
    packets = -(-part // frames.payload_bytes)
    rest = part - (packets - 1) * frames.payload_bytes + frames.header_bytes
    last = np.maximum(rest, frames.least_bytes).astype(np.float64)
    first = np.where(packets > 1, float(frames.payload_bytes + frames.header_bytes), last)
    return first, last, frames.connections * ((packets - 1) * first + last)


def hpcc_alone_ps(
    wiring: Wiring, transfers: Transfers, *, payload_bytes: int, header_bytes: int
) -> NDArray[np.int64]:
    """Return what HPCC's simulator divides completion times by: third.cc, qp_finish.

    The base round trip (propagation both ways, and a full payload on every link once) and all
    bytes, headers without telemetry included, at the slowest link.

    Raises:
        InfeasibleError: two endpoints cannot reach each other.
    """
    source, target = (ends.astype(np.int64) for ends in (transfers.source, transfers.target))
    ways = first_ways(wiring, source, target)
    base_ps = 2 * ways.delay_ps + payload_bytes * ways.ps_per_byte
    packets = -(-transfers.size_bytes // payload_bytes)
    total_bytes = transfers.size_bytes + packets * header_bytes
    return np.rint(base_ps + total_bytes * 8e12 / ways.slowest_bps).astype(np.int64)
