"""Small networks and traffic for the rows that are simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.delivery import Delivery
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["LINE_SPAN", "MS", "US", "PacketCable", "durations_s", "line", "messages", "network"]

US: Final = 1_000_000  # picoseconds
MS: Final = 1_000 * US
LINE_SPAN: Final = 4  # of a line, the link from the near to the far switch
SHORT_PS: Final = 500_000  # 100 m

# Two vertices, bit/s and one way in picoseconds.
PacketCable = tuple[int, int, float, int]


def network(num_endpoints: int, cables: Sequence[PacketCable]) -> PacketTopology:
    """Return endpoints, then switches, joined by *cables*; cable i is links 2i and 2i + 1."""
    num_vertices = max(max(a, b) for a, b, _, _ in cables) + 1
    return wire_up(
        CableList(
            lower=np.array([a for a, _, _, _ in cables], dtype=np.int64),
            upper=np.array([b for _, b, _, _ in cables], dtype=np.int64),
            rate_bps=np.array([rate for _, _, rate, _ in cables]),
            delay_ps=np.array([delay for _, _, _, delay in cables], dtype=np.int64),
            up=np.ones(len(cables), dtype=np.bool_),
        ),
        num_endpoints=num_endpoints,
        name=tuple(f"v{vertex}" for vertex in range(num_vertices)),
        forward_ps=np.zeros(num_vertices, dtype=np.int64),
    )


def line(rate_bps: float, one_way_ps: int) -> PacketTopology:
    """Return two hosts with a switch each, and a line between these."""
    return network(
        2,
        [(0, 2, rate_bps, SHORT_PS), (1, 3, rate_bps, SHORT_PS), (2, 3, rate_bps, one_way_ps)],
    )


def messages(
    pairs: Sequence[tuple[int, int]],
    size_bytes: int | Sequence[int],
    *,
    start_ps: Sequence[int] | None = None,
    chained: bool = False,
) -> Transfers:
    """Return a transfer for each pair; *chained*, each begins when the one before has arrived."""
    count = len(pairs)
    waits = np.arange(count - 1, dtype=np.int32) if chained else np.empty(0, dtype=np.int32)
    number = np.arange(count + 1, dtype=np.int64)
    return Transfers(
        source=np.array([a for a, _ in pairs], dtype=np.int32),
        target=np.array([b for _, b in pairs], dtype=np.int32),
        size_bytes=np.ascontiguousarray(np.broadcast_to(np.int64(size_bytes), count))
        if isinstance(size_bytes, int)
        else np.array(size_bytes, dtype=np.int64),
        start_ps=np.zeros(count, dtype=np.int64)
        if start_ps is None
        else np.array(start_ps, dtype=np.int64),
        delay_ps=np.zeros(count, dtype=np.int64),
        source_port=(49_152 + 7 * number[:-1] % 16_384).astype(np.uint16),
        priority=np.zeros(count, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.maximum(number - 1, 0) if chained else np.zeros(count + 1, dtype=np.int64),
        waits=waits,
    )


def durations_s(delivery: Delivery) -> np.ndarray:
    """Return how long each transfer took until its sender knew."""
    return (delivery.finish_ps - delivery.start_ps) * 1e-12
