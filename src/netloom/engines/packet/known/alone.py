"""How long messages take that have their way to themselves.

Three equal messages are moved in a row for each size and kind of way. The first shows when one
arrives, the others for how long each keeps its connection from the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.packet.engine import run_packets
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.known.message_ways import MessageWays
    from netloom.engines.packet.settings import PacketSettings, Transport
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["MAX_ANSWERS", "AloneTimes", "alone_times", "answer_share"]

MAX_CASES: Final = 5_000
_IN_A_ROW: Final = 3
_STEADY: Final = 1e-3  # of a message: how far two in a row may differ when control is at rest
_GAP_PS: Final = 1_000_000_000
MAX_ANSWERS: Final = 0.002  # of the rate: reliable connections send 1 in 256 packets an answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AloneTimes:
    """How long messages take that have their way to themselves.

    Attributes:
        kind: Of each transfer, which of the times below it takes; 0 for computations too.
        busy_ps: Of each kind: for how long it keeps its connection from the next.
        flight_ps: What it takes longer to arrive.
        reason: Why that is not known; empty where it is.
    """

    kind: NDArray[np.int32]
    busy_ps: NDArray[np.int64]
    flight_ps: NDArray[np.int64]
    reason: str = ""


def alone_times(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    ways: MessageWays,
    *,
    seed: int = 0,
) -> AloneTimes:
    """Return the times of each of *transfers* alone.

    One case for each size and kind of way; the second and third message of a row must take as long,
    or congestion control is not at rest after one, and nothing is known.
    """
    sends = np.flatnonzero(transfers.size_bytes > 0)
    shape = _shapes(wiring, ways)[ways.connection[sends]]
    sizes, size = np.unique(transfers.size_bytes[sends], return_inverse=True)
    both = shape * len(sizes) + size.reshape(-1)
    _, first, case = np.unique(both, return_index=True, return_inverse=True)
    if len(first) > MAX_CASES:
        return _unknown(transfers, "too many sizes of messages")
    arrive_ps, start_ps = _moved(wiring, transfers, settings, sends[first], seed=seed)
    gaps = np.diff(arrive_ps, axis=1)
    if (np.abs(gaps[:, 1] - gaps[:, 0]) > _STEADY * gaps[:, 1] + 1_000).any():
        return _unknown(transfers, "congestion control is not at rest after one message")
    kind = np.zeros(len(transfers), dtype=np.int32)
    kind[sends] = case.reshape(-1)
    return AloneTimes(
        kind=kind, busy_ps=gaps[:, 1], flight_ps=arrive_ps[:, 0] - start_ps - gaps[:, 1]
    )


def _unknown(transfers: Transfers, reason: str) -> AloneTimes:
    none = np.zeros(0, dtype=np.int64)
    kind = np.zeros(len(transfers), dtype=np.int32)
    return AloneTimes(kind=kind, busy_ps=none, flight_ps=none, reason=reason)


def _shapes(wiring: PacketTopology, ways: MessageWays) -> NDArray[np.int64]:
    """Return a number for each connection: equal ones have ways of equal links, hop by hop."""
    link = ways.link
    look = np.stack(
        [
            np.rint(wiring.link_rate_bps[link]).astype(np.int64),
            wiring.link_delay_ps[link],
            wiring.link_delay_ps[link ^ 1],  # where answers come back
            wiring.forward_ps[wiring.link_target[link]],
            wiring.link_scale_up[link].astype(np.int64),
            (wiring.link_source[link] < wiring.num_endpoints).astype(np.int64),
            (wiring.link_target[link] < wiring.num_endpoints).astype(np.int64),
        ]
    )
    kind = np.unique(look, axis=1, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    share = np.rint(ways.load * (1 << 20)).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (kind + 1) * np.uint64(0x9E3779B97F4A7C15) ^ (share + 1) * np.uint64(
            0x94D049BB133111EB
        )
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        total = np.add.reduceat(mixed, np.flatnonzero(np.diff(ways.owner, prepend=-1)))
    return np.unique(total, return_inverse=True)[1].reshape(-1)


def _moved(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    rows: NDArray[np.int64],
    *,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when three messages like each of *rows*, in a row, arrive, and when they started."""
    size = transfers.size_bytes[rows]
    slowest = float(wiring.link_rate_bps.min())
    last_ps = 2 * _IN_A_ROW * size * 8e12 / slowest
    start = np.cumsum(last_ps + _GAP_PS).astype(np.int64)
    start = np.concatenate([[0], start[:-1]])
    each = np.repeat(rows, _IN_A_ROW)
    alone = Transfers(
        source=transfers.source[each],
        target=transfers.target[each],
        size_bytes=transfers.size_bytes[each],
        start_ps=np.repeat(start, _IN_A_ROW),
        delay_ps=np.zeros(len(each), dtype=np.int64),
        source_port=transfers.source_port[each],
        priority=transfers.priority[each],
        job=transfers.job[each],
        wait_offsets=np.zeros(len(each) + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )
    delivery = run_packets(wiring, alone, settings, seed=seed)
    arrive = delivery.tables["arrivals"]["arrive_ps"].astype(np.int64)
    return arrive.reshape(-1, _IN_A_ROW), start


def answer_share(host: Transport) -> float:
    """Return what answers take of the links back, over what data takes of those there."""
    full_bytes = host.payload_bytes + host.header_bytes
    packets = host.ask_every_packets or max(-(-host.ack_every_bytes // full_bytes), 1)
    answer_bytes = max(host.ack_bytes, host.least_bytes) + host.gap_bytes
    return answer_bytes / packets / (full_bytes + host.gap_bytes)
