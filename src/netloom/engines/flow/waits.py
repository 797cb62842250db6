"""What a transfer waits for beside its bytes, on a wiring whose links have delays of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.routes import way_delay_ps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.flow.ends import TransferEnds
    from netloom.engines.flow.routes import Ground
    from netloom.engines.flow.ways import FlowPaths

__all__ = ["waits_ps"]

_ACK_HEADER_BYTES: Final = 4  # AETH: InfiniBand vol. 1 (recalled)
_PS: Final = 1e12


def waits_ps(
    on: Ground,
    ways: FlowPaths,
    packet_bytes: NDArray[np.int64],
    ends: TransferEnds,
    *,
    parts: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return from each last byte sent to its arrival, and from there until the sender knows.

    A packet is stored at every switch, which shows on all links but the slowest; there packets
    follow one another. Switches that cut through store it before a link that is faster than the
    first. The acknowledgement sets out when the last bit is in, not when it is in
    memory. Of the *parts* of a transfer, which are as many ways, the slowest counts.
    """

    def worst(of_part: NDArray[np.float64]) -> NDArray[np.float64]:
        most: NDArray[np.float64] = of_part.reshape(-1, parts).max(axis=1, initial=0.0)
        return most

    wired = ~on.is_scale_up[ways.links]
    crossing = ways.crossing()
    per_byte = 8 * _PS / on.link_rate_bps[ways.links]
    sent = np.repeat(packet_bytes, parts).astype(np.float64)
    time = np.repeat(sent, np.diff(ways.offsets)) + np.where(wired, ends.header_bytes, 0)
    time *= per_byte
    outside = worst(ways.most(wired).astype(np.float64)) > 0
    if ends.stores:
        stored_ps = worst(ways.total(time * crossing) - ways.most(time))
    else:
        stored_ps = worst(_into_faster(ways, time))
    delay_ps = worst(way_delay_ps(on, ways).astype(np.float64))
    receive_ps = np.where(outside, ends.receive_ps, 0)
    arrive_ps = np.where(outside, ends.send_ps, 0) + stored_ps + delay_ps + receive_ps
    back = np.where(wired, per_byte, 0.0) * (ends.header_bytes + _ACK_HEADER_BYTES)
    back_ps = delay_ps + worst(ways.total(back * crossing) if ends.stores else ways.most(back))
    known_ps = np.maximum(back_ps - receive_ps, 0)
    return np.rint(arrive_ps).astype(np.int64), np.rint(known_ps).astype(np.int64)


def _into_faster(ways: FlowPaths, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a packet waits where some link is faster than the first: it is stored there.

    It takes its time on the first link and, cut through from there on, on the last; all but that on
    the slowest, which packets take one after another.
    """
    least = 1 / ways.most(1 / time)
    first, last = time[ways.offsets[:-1]], time[ways.offsets[1:] - 1]
    return np.where(least < first, first + last - ways.most(time), 0.0)
