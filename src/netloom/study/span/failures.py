"""What a lost wave, a cut fibre and a lost site do, and what is left of the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.provenance import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.spec.scenario import Scenario

__all__ = ["CUTS", "SpanFailure", "TimeoutRung", "ladder", "rdma_timeout_s", "span_failures"]

YEAR_S: Final = 365.25 * 86_400
CUTS_PER_KM_YEAR: Final = 2.73e-3  # 4.39 a year and 1,000 sheath-miles
FIBRE_REPAIR_S: Final = 12 * 3_600.0
SITES_LOST_PER_YEAR: Final = 0.5
SITE_REPAIR_S: Final = 4 * 3_600.0
CUTS: Final = Source(
    citation="4.39 cuts a year and 1,000 sheath-miles (FCC statistics of the 1990s); repair in 12 "
    "hours; a site lost every other year for 4 hours",
    confidence="recalled",
    note="a carrier's own record replaces it",
)
NOTICED_S: Final = 0.1  # China Telecom: breaks longer than 100 ms slowed or stopped training
UNNOTICED_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutRung:
    """Something that gives up after *after_s*, and whether protection is faster."""

    what: str
    after_s: float
    survives: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanFailure:
    """One kind of failure.

    Attributes:
        per_year: How often.
        stall_s: How long the job waits, each time.
        efficiency_after: Until it is repaired; 0 where the job stands still.
        lost_share: Of all time.
    """

    what: str
    per_year: float
    stall_s: float
    efficiency_after: float
    lost_share: float
    note: str


def rdma_timeout_s(exponent: int, retries: int = 1) -> float:
    """Return how long a queue pair waits: 4.096 us x 2^exponent, for each retry."""
    return 4.096e-6 * float(2**exponent) * retries


def ladder(within_s: float | None) -> tuple[TimeoutRung, ...]:
    """Return who gives up when; None is a break that nothing takes over."""
    rungs = (
        ("training notices (China Telecom's tests)", NOTICED_S),
        ("one NIC time-out, exponent 14", rdma_timeout_s(14)),
        ("fabric watchdog", 0.2),
        ("one NIC time-out, exponent 20 (NCCL's default)", rdma_timeout_s(20)),
        ("the queue pair fails: 7 retries of exponent 20", rdma_timeout_s(20, 7)),
        ("NCCL's watchdog aborts the job", 600.0),
    )
    return tuple(
        TimeoutRung(
            what=what, after_s=after_s, survives=within_s is not None and within_s < after_s
        )
        for what, after_s in rungs
    )


def span_failures(
    scenario: Scenario,
    spans: Sequence[BuiltSpan],
    *,
    efficiency: float,
    efficiency_at: Callable[[float, float], float],
) -> tuple[SpanFailure, ...]:
    """Return each kind of failure of each span, and of a site.

    Args:
        scenario: With protection and restart.
        spans: As built.
        efficiency: While everything works.
        efficiency_at: Of the job at a share of its rate and a one-way delay.
    """
    rows = []
    restart_s = scenario.job.reliability.restart_s
    for span in spans:
        count = span.spec.waves.count
        left = (count - 1) / count
        after = efficiency_at(left, span.latency.total_s) if left else 0.0
        rows.append(
            SpanFailure(
                what=f"a wave of {span.name}",
                per_year=float("nan"),
                stall_s=0.0 if left else restart_s,
                efficiency_after=after,
                lost_share=0.0,
                note=f"{1 - after / efficiency:.0%} slower until it is back; rate not on record",
            )
        )
        rows.append(_fibre(span, restart_s, efficiency, efficiency_at))
    smallest = min(scenario.sites, key=lambda site: site.nodes)
    total = sum(site.nodes for site in scenario.sites)
    kept = 1 - smallest.nodes / total
    per_year = SITES_LOST_PER_YEAR * len(scenario.sites)
    rows.append(
        SpanFailure(
            what=f"a site ({smallest.name}: {smallest.nodes:,} of {total:,} nodes)",
            per_year=per_year,
            stall_s=restart_s,
            efficiency_after=efficiency * kept,
            lost_share=per_year * (restart_s + SITE_REPAIR_S * (1 - kept)) / YEAR_S,
            note="the job restarts on the other sites where data parallelism crosses",
        )
    )
    return tuple(rows)


def _fibre(
    span: BuiltSpan,
    restart_s: float,
    efficiency: float,
    efficiency_at: Callable[[float, float], float],
) -> SpanFailure:
    per_year = CUTS_PER_KM_YEAR * (span.spec.length_m or 0.0) / 1e3  # bought: not on record
    guard = span.spec.protection
    if guard.kind == "none":
        return SpanFailure(
            what=f"the fibre of {span.name}",
            per_year=per_year,
            stall_s=FIBRE_REPAIR_S,
            efficiency_after=0.0,
            lost_share=per_year * (FIBRE_REPAIR_S + restart_s) / YEAR_S,
            note="nothing takes over: the job stands still until the repair, and restarts",
        )
    within_s = 0.0 if guard.kind == "frer" else guard.within_s
    dies = within_s > rdma_timeout_s(20, 7)
    delay_s = span.latency.total_s if guard.length_m is None else span.one_way_s(guard.length_m)
    after = efficiency_at(1.0, delay_s)
    slower = max(0.0, 1 - after / efficiency)
    stall_s = within_s + (restart_s if dies else 0.0)
    return SpanFailure(
        what=f"the fibre of {span.name}",
        per_year=per_year,
        stall_s=stall_s,
        efficiency_after=after,
        lost_share=per_year * (stall_s + slower * FIBRE_REPAIR_S) / YEAR_S,
        note="queue pairs fail before the route is restored: a restart"
        if dies
        else "unnoticed"
        if within_s <= UNNOTICED_S
        else "a stall, no restart",
    )
