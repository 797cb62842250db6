"""What a hop of a ring between nodes takes, read off rings of all sizes."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from netloom.engines.analytic.engine import ring_without_hops
from netloom.engines.analytic.measured_rings import num_crossings, passed_on_bytes
from netloom.parts.parts import HopTime
from netloom.study.calibrate.fitting import rising

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.fabric.network import Network
    from netloom.study.calibrate.fitting import TimedCollective

__all__ = ["ring_hops"]

_NOTICEABLE: Final = 0.05  # share of a hop's whole time under which what bytes do not take is noise


class _Hop(NamedTuple):
    """One hop of a measured ring: bytes passed on, all it took, and what its bytes take."""

    passed_bytes: float
    whole_s: float
    bytes_s: float


def ring_hops(
    rows: Sequence[TimedCollective], on: Callable[[TimedCollective], Network]
) -> tuple[HopTime, ...]:
    """Return what a hop takes beyond its bytes, by the bytes passed on; empty where that is little.

    Rows of a power of two of bytes count together, whatever their collective and number of nodes.

    Args:
        rows: Rings between nodes.
        on: Returns the network to take a row's bytes from.
    """
    binned: defaultdict[int, list[_Hop]] = defaultdict(list)
    for row in rows:
        hop = _hop(row, on(row))
        binned[round(math.log2(hop.passed_bytes))].append(hop)
    middles = [_middle(binned[power]) for power in sorted(binned)]
    wholes = rising(hop.whole_s for hop in middles)  # a larger message does not take less
    beyond = [
        HopTime.model_construct(size_bytes=hop.passed_bytes, time_s=max(0.0, whole_s - hop.bytes_s))
        for hop, whole_s in zip(middles, wholes, strict=True)
    ]
    last = max(
        (at for at, hop in enumerate(beyond) if hop.time_s > _NOTICEABLE * wholes[at]), default=-1
    )
    return tuple(beyond[: last + 2]) if last >= 0 else ()


def _hop(row: TimedCollective, network: Network) -> _Hop:
    crossings = num_crossings(row.collective)
    fixed_s, bytes_s = ring_without_hops(row.collective, network)
    return _Hop(
        passed_on_bytes(row.collective),
        (row.time_s - fixed_s) / crossings,
        bytes_s / crossings,
    )


def _middle(hops: Sequence[_Hop]) -> _Hop:
    """Return the middle of some hops of about the same bytes: of what each takes beyond them."""
    passed_bytes = median(hop.passed_bytes for hop in hops)
    bytes_s = median(hop.bytes_s for hop in hops)
    beyond_s = median(hop.whole_s - hop.bytes_s for hop in hops)
    return _Hop(passed_bytes, beyond_s + bytes_s, bytes_s)
