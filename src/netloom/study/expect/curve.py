"""What nccl-tests should show, size by size, from the analytic engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.engines.analytic import Algorithm, AnalyticEngine
from netloom.study.expect.spread import factor_of, spread_of
from netloom.validated.collectives import CollectivePoint
from netloom.workload.collective import Collective

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.base import Outcome
    from netloom.fabric.network import Network
    from netloom.provenance import Why
    from netloom.validated.collectives import CollectiveGroup
    from netloom.workload.collective import CollectiveKind, Group

__all__ = ["ExpectedPoint", "TestRun", "algorithm_called", "bus_gbps", "expected", "outcome_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One run of nccl-tests: which collective, who takes part, and on what."""

    __test__ = False  # not a test of ours

    kind: CollectiveKind
    group: Group
    network: Network


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPoint:
    """What nccl-tests should show at one size.

    Attributes:
        bus_gbps: Bus bandwidth in GB/s of 10^9 bytes, as nccl-tests counts.
        algorithm_gbps: Algorithm bandwidth, likewise.
        low_gbps: Bus bandwidth above which 19 of 20 measured rows should be.
        high_gbps: And below which, likewise.
        spread: Standard deviation of ln(measured / expected).
        inside: Whether it is inside what was validated.
        reason: Why it is not, and what is nearest; empty when inside.
    """

    size_bytes: float
    time_s: float
    algorithm_gbps: float
    bus_gbps: float
    low_gbps: float
    high_gbps: float
    spread: float
    algorithm: str
    protocol: str
    inside: bool
    reason: str
    why: Why


def algorithm_called(name: str) -> Algorithm | None:
    """Return the algorithm that NCCL_ALGO or a table calls *name*; None where it has no model."""
    return next((one for one in Algorithm if one.value == name.lower()), None)


def outcome_of(run: TestRun, size_bytes: float, algorithm: Algorithm | None = None) -> Outcome:
    """Return what the analytic engine says of one size; with NCCL_ALGO where one is given."""
    asked = Collective(kind=run.kind, size_bytes=size_bytes, group=run.group)
    return AnalyticEngine(algorithm).run(asked, run.network)


def bus_gbps(outcome: Outcome) -> float:
    """Return the bus bandwidth in the unit of nccl-tests."""
    return outcome.bus_rate_bps / 8e9


def expected(
    run: TestRun,
    sizes: Sequence[float],
    *,
    algorithm: Algorithm | None = None,
    groups: Sequence[CollectiveGroup] | None = None,
) -> tuple[ExpectedPoint, ...]:
    """Return what *run* should show at each of *sizes*.

    Args:
        run: What is run, and on what.
        sizes: In bytes, as nccl-tests counts them.
        algorithm: As NCCL_ALGO; None lets the library choose.
        groups: What was measured, for the interval; the shipped table by default.
    """
    return tuple(_point(run, size, algorithm, groups) for size in sizes)


def _point(
    run: TestRun,
    size_bytes: float,
    algorithm: Algorithm | None,
    groups: Sequence[CollectiveGroup] | None,
) -> ExpectedPoint:
    outcome = outcome_of(run, size_bytes, algorithm)
    spread = spread_of(_place(run, size_bytes), groups)
    bus = bus_gbps(outcome)
    return ExpectedPoint(
        size_bytes=size_bytes,
        time_s=outcome.duration_s,
        algorithm_gbps=size_bytes / outcome.duration_s / 1e9,
        bus_gbps=bus,
        low_gbps=bus / factor_of(spread),
        high_gbps=min(bus * factor_of(spread), max(bus, _most_gbps(run))),
        spread=spread,
        algorithm=outcome.algorithm,
        protocol=outcome.protocol,
        inside=outcome.validity.inside,
        reason=" ".join(outcome.validity.doubts),
        why=outcome.why,
    )


def _most_gbps(run: TestRun) -> float:
    """Return a bus bandwidth that nothing exceeds.

    All of the data must enter each node, or each GPU of the only one, once, and nccl-tests counts
    a byte 2 (n - 1) / n times at most.
    """
    network = run.network
    if run.group.num_nodes == 1:
        return 2 * network.scale_up.rate_bps / 8e9
    return 2 * network.node.num_nics * network.nic_rate_bps / 8e9


def _place(run: TestRun, size_bytes: float) -> CollectivePoint:
    num_nodes = run.group.num_nodes
    return CollectivePoint(
        collective=run.kind.value,
        node=run.network.node.name,
        scale_up=run.network.scale_up.name,
        family=run.network.technology.family if num_nodes > 1 else "",
        num_nodes=num_nodes,
        size_bytes=size_bytes,
    )
