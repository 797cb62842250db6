"""Clusters measured on several node counts: calibrated on one count, judged on the others.

No row is judged by constants that it had a part in. Versions of the library are clusters of their
own: on Polaris two of them differ by half at the same size and node count.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.engines.base import bus_factor
from netloom.errors import NetloomError
from netloom.study.calibrate.fitting import TimedCollective
from netloom.study.calibrate.network import fit_network
from netloom.validation.collectives.measured import case_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.validation.collectives.measurement import Measurement

__all__ = ["OtherCounts", "other_counts"]

CLUSTERS: Final = (
    "ALCF Polaris NCCL 2.18",
    "ALCF Polaris NCCL 2.21",
    "xxrjun example-cluster01",
    "CoreWeave GB200",
)
_LEAST_BYTES: Final = 2.0**20


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCounts:
    """How well a cluster calibrated on one node count is predicted on its other counts.

    Attributes:
        num_nodes: That it was calibrated on; of racks, racks.
        others: That it was judged on.
        before_pct: Median error of the bus bandwidth as shipped, 1 MiB and more.
        after_pct: The same when calibrated.
        by_collective: The latter by collective, with the rows of each.
    """

    cluster: str
    num_nodes: int
    others: tuple[int, ...]
    num_rows: int
    before_pct: float
    after_pct: float
    by_collective: Mapping[str, tuple[float, int]]


def other_counts(rows: Iterable[Measurement], catalog: Catalog) -> tuple[OtherCounts, ...]:
    """Return every cluster of several node counts, calibrated on each of them in turn."""
    clusters: defaultdict[str, list[TimedCollective]] = defaultdict(list)
    for row in rows:
        if row.cluster in CLUSTERS and row.status == "ok" and row.size_bytes:
            timed = _timed(row, catalog)
            if timed is not None and timed.collective.group.num_nodes > 1:
                clusters[row.cluster].append(timed)
    return tuple(
        _judged(cluster, num_nodes, some)
        for cluster, some in clusters.items()
        for num_nodes in sorted({row.collective.group.num_nodes for row in some})
    )


def _timed(row: Measurement, catalog: Catalog) -> TimedCollective | None:
    try:
        case = case_of(row, catalog)
    except NetloomError:
        return None
    collective = case.collective
    time_s = bus_factor(collective) * collective.size_bytes / (row.bus_gbps * 1e9)
    return TimedCollective(
        machine=row.cluster, collective=collective, network=case.network, time_s=time_s
    )


def _judged(cluster: str, num_nodes: int, rows: Sequence[TimedCollective]) -> OtherCounts:
    counts = sorted({row.collective.group.num_nodes for row in rows})
    seen = [row for row in rows if row.collective.group.num_nodes == num_nodes]
    fit = fit_network(seen, num_nodes=counts[-1])
    unseen = [
        row
        for row in rows
        if row.collective.group.num_nodes != num_nodes and row.collective.size_bytes >= _LEAST_BYTES
    ]
    by_collective: defaultdict[str, list[float]] = defaultdict(list)
    for row in unseen:
        by_collective[row.collective.kind.value].append(_error_pct(row, fit.on(row.network)))
    after = [error for errors in by_collective.values() for error in errors]
    return OtherCounts(
        cluster=cluster,
        num_nodes=num_nodes,
        others=tuple(count for count in counts if count != num_nodes),
        num_rows=len(unseen),
        before_pct=median(_error_pct(row, row.network) for row in unseen),
        after_pct=median(after),
        by_collective={kind: (median(some), len(some)) for kind, some in by_collective.items()},
    )


def _error_pct(row: TimedCollective, network: Network) -> float:
    return 100 * abs(row.time_s / row.predicted_s(network) - 1)
