"""Try a plan on the flow engine before anybody acts: how long flows take before and after it.

The trial traffic is what synchronous training needs most: every GPU sends at once to the GPU of
its own rail some nodes further on, over several distances, and all wait for the slowest. Where the
job is known, its own step is tried as well, and that is what a plan is judged by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.engines.flow.run import run_flows
from netloom.engines.flow.settings import settings_for
from netloom.errors import InfeasibleError
from netloom.fabric import edit
from netloom.fabric.graph import LinkState, VertexKind
from netloom.fabric.wire.recovery import added_s, efficiency
from netloom.ops.locate.faults import FaultKind, Trouble
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from netloom.engines.flow.settings import FlowSettings
    from netloom.fabric.graph import Fabric
    from netloom.fabric.part_id import PartId
    from netloom.ops.locate.findings import Finding
    from netloom.parts.parts import Technology
    from netloom.workload.transfers import Transfers

__all__ = [
    "Away",
    "PlanEffect",
    "PlanTrial",
    "TrialBaseline",
    "away",
    "baseline_of",
    "damaged",
    "trial_of",
]

SIZE_BYTES: Final = 64 * 2**20  # of a transfer: long enough that latency does not matter
DISTANCES: Final = (1 / 2, 1 / 4, 1 / 8)  # of the cluster
STALLS: Final = 1e3  # times slower: no collective ends before its time-out
RTT_S: Final = 10e-6  # of a path with three switches, as for findings
MAX_LOSS: Final = 0.999
LOSSY: Final = frozenset({FaultKind.LOSS, FaultKind.LARGE_LOSS, Trouble.SYMBOL_ERRORS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """How much of a fabric carries nothing: down or drained.

    Attributes:
        share: Of all capacity between switches.
        uplink_share: Of the uplinks of the switch that lost most of its own.
        num_ports: NIC ports without a link.
    """

    share: float
    uplink_share: float
    num_ports: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEffect:
    """What a plan does, according to the flow engine.

    Attributes:
        healthy_s: The trial traffic on the fabric as designed.
        before_s: As it is now, all findings in force; infinite when flows stall.
        after_s: Once the plan is carried out; infinite when it cuts a host off.
        away_before: Capacity that is away now.
        away_after: Capacity that is away then.
        num_nodes: Machines that the plan takes away from jobs.
        step_before_s: The job's step as things are now; None where no job is known.
        step_after_s: Once the plan is carried out.
    """

    healthy_s: float
    before_s: float
    after_s: float
    away_before: Away
    away_after: Away
    num_nodes: int = 0
    step_before_s: float | None = None
    step_after_s: float | None = None

    @property
    def cuts_off(self) -> bool:
        """Whether a host could not be reached any more that can be now."""
        more_ports = self.away_after.num_ports > self.away_before.num_ports
        return more_ports or (math.isinf(self.after_s) and not math.isinf(self.before_s))

    @property
    def slowdown(self) -> float:
        """Time after over time before, less 1: what acting costs where it is positive.

        Of the job's step; of the trial traffic where no job is known.
        """
        if self.step_before_s is not None and self.step_after_s is not None:
            return _longer(self.step_before_s, self.step_after_s)
        return _longer(self.before_s, self.after_s)

    @property
    def takes_more(self) -> bool:
        """Whether more is away afterwards than before, of anything."""
        before, after = self.away_before, self.away_after
        return (
            after.share > before.share
            or after.uplink_share > before.uplink_share
            or after.num_ports > before.num_ports
        )


def _longer(before_s: float, after_s: float) -> float:
    if math.isinf(before_s):
        return math.inf if math.isinf(after_s) else -1.0
    return after_s / before_s - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanTrial:
    """A fabric with what is wrong with it, and traffic to try plans with.

    Attributes:
        designed: The fabric as it should be.
        now: The fabric as it is.
        link_loss: Packets lost on each link now.
        healthy_s: The traffic on the first.
        before_s: The traffic on the second.
        step_s: How long the job's step takes on a fabric; None where no job is known.
        step_before_s: That on the second fabric.
    """

    designed: Fabric
    now: Fabric
    link_loss: NDArray[np.float64]
    traffic: _Traffic
    healthy_s: float
    before_s: float
    step_s: Callable[[Fabric], float] | None = None
    step_before_s: float | None = None

    def effect(self, then: Fabric, *, num_nodes: int = 0) -> PlanEffect:
        """Return what it means that the fabric becomes *then*."""
        same = (then.link_state == self.now.link_state).all() and (
            then.link_slowdown == self.now.link_slowdown
        ).all()
        step_after_s = self.step_before_s if same or self.step_s is None else self.step_s(then)
        return PlanEffect(
            healthy_s=self.healthy_s,
            before_s=self.before_s,
            after_s=self.before_s if same else self.traffic.time_s(then, self.link_loss),
            away_before=away(self.now),
            away_after=away(then),
            num_nodes=num_nodes,
            step_before_s=self.step_before_s,
            step_after_s=step_after_s,
        )


def trial_of(  # noqa: PLR0913  (a fabric, and what is known of it)
    fabric: Fabric,
    technology: Technology,
    findings: Iterable[Finding],
    gone: Iterable[PartId],
    *,
    step_s: Callable[[Fabric], float] | None = None,
    baseline: TrialBaseline | None = None,
    now: Fabric | None = None,
) -> PlanTrial:
    """Return the trial for a fabric on which *findings* hold and the cables *gone* are down.

    Args:
        fabric: As designed.
        technology: Of it.
        findings: What is wrong.
        gone: Cables that carry nothing.
        step_s: How long the job's step takes on a fabric, infinite when it cannot run.
        baseline: Of the same fabric, where it was taken before; default: taken now.
        now: The fabric with what is drained already; default: as designed.
    """
    healthy = baseline or baseline_of(fabric, technology)
    now, link_loss = now or fabric, np.zeros(fabric.num_links)
    for part in gone:
        now = edit.fail(now, part)
    for finding in findings:
        now = damaged(now, finding, technology)
        if finding.kind in LOSSY:
            hit = edit.fail(fabric, finding.part).link_state == LinkState.DOWN
            link_loss[hit] = np.maximum(link_loss[hit], min(finding.magnitude, MAX_LOSS))
    traffic = healthy.traffic
    return PlanTrial(
        designed=fabric,
        now=now,
        link_loss=link_loss,
        traffic=traffic,
        healthy_s=healthy.healthy_s,
        before_s=traffic.time_s(now, link_loss),
        step_s=step_s,
        step_before_s=step_s(now) if step_s else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialBaseline:
    """The trial on a fabric as designed: no look is needed for it.

    Attributes:
        traffic: What every plan is tried with.
        healthy_s: How long it takes there.
    """

    traffic: _Traffic
    healthy_s: float


def baseline_of(fabric: Fabric, technology: Technology) -> TrialBaseline:
    """Return the trial on *fabric*."""
    traffic = _Traffic(
        technology=technology,
        settings=settings_for(technology),
        transfers=_transfers(fabric),
    )
    zero = np.zeros(fabric.num_links)
    return TrialBaseline(traffic=traffic, healthy_s=traffic.time_s(fabric, zero))


def damaged(fabric: Fabric, finding: Finding, technology: Technology) -> Fabric:
    """Return *fabric* as *finding* says it is.

    A loss is a slower link: what its recovery leaves of it. Kernels that lost paths have slower
    uplinks. What is not about capacity (delays, wiring, managers) changes nothing.
    """
    part = finding.part
    if finding.kind in (Trouble.MISSING, Trouble.SILENT):
        return edit.fail(fabric, part)
    factor = _factor(finding, technology)
    if factor <= 1:
        return fabric
    return edit.slow(fabric, part, factor)


def _factor(finding: Finding, technology: Technology) -> float:
    """Return how many times slower a part is."""
    match finding.kind:
        case FaultKind.LOSS | FaultKind.LARGE_LOSS | Trouble.SYMBOL_ERRORS:
            loss = min(finding.magnitude, MAX_LOSS)
            left = efficiency(technology, loss=loss, num_links=1, rtt_s=RTT_S)
            return 1 / max(left, 1 / (2 * STALLS))
        case FaultKind.BLACK_HOLE:
            return 2 * STALLS
        case FaultKind.SLOW | Trouble.WRONG_SPEED:
            return finding.magnitude
        case FaultKind.LOST_PATHS | FaultKind.PAUSE_STORM:
            return 1 / max(1 - finding.predicted_gain, 1 / (2 * STALLS))
        case _:
            return 1.0


def away(fabric: Fabric) -> Away:
    """Return how much of *fabric* is down or drained."""
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    source, target = fabric.link_source, fabric.link_target
    gone = fabric.link_state != LinkState.UP
    between = is_switch[source] & is_switch[target]
    rate_bps = np.where(between, fabric.link_rate_bps, 0.0)
    up = between & (fabric.vertex_tier[target] > fabric.vertex_tier[source])
    own = np.bincount(source, np.where(up, rate_bps, 0.0), minlength=fabric.num_vertices)
    lost = np.bincount(source, np.where(up & gone, rate_bps, 0.0), minlength=fabric.num_vertices)
    is_port = fabric.vertex_kind == VertexKind.NIC
    total_bps = float(rate_bps.sum())
    return Away(
        share=float(rate_bps[gone].sum()) / total_bps if total_bps else 0.0,
        uplink_share=float(np.divide(lost, own, out=np.zeros_like(own), where=own > 0).max()),
        num_ports=int(np.count_nonzero(gone & is_port[source] & is_switch[target])),
    )


def _transfers(fabric: Fabric) -> Transfers:
    """Return every GPU's transfers to the same rail of nodes at several distances, at once."""
    gpus = np.flatnonzero(fabric.vertex_kind == VertexKind.GPU)
    per_node = int(np.count_nonzero(fabric.vertex_node[gpus] == 0))
    num_nodes = len(gpus) // per_node
    steps = sorted({max(1, round(num_nodes * share)) for share in DISTANCES})
    targets = [np.roll(gpus, -step * per_node) for step in steps if num_nodes > 1]
    if not targets:
        targets = [np.roll(gpus, -1)]
    source = np.tile(gpus, len(targets))
    number = np.arange(len(source))
    dag = Dag.of(source, np.concatenate(targets), SIZE_BYTES, connection=number)
    return to_transfers([dag], [Label()], rng=np.random.default_rng(0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Traffic:
    """What every plan is tried with."""

    technology: Technology
    settings: FlowSettings
    transfers: Transfers

    def time_s(self, fabric: Fabric, link_loss: NDArray[np.float64]) -> float:
        """Return when the last transfer ends; never when a host is cut off or stalls."""
        try:
            found = run_flows(fabric, self.transfers, self.settings)
        except InfeasibleError:
            return math.inf
        used = found.link_bytes > 0
        if float(fabric.link_slowdown[used].max(initial=1.0)) > STALLS:
            return math.inf
        return float(found.finish_ps.max()) * 1e-12 + self._tail_s(found.link_bytes, link_loss)

    def _tail_s(self, link_bytes: NDArray[np.int64], link_loss: NDArray[np.float64]) -> float:
        """Return what waiting for time-outs adds where lossy links are in use."""
        return sum(
            added_s(
                SIZE_BYTES,
                self.technology,
                loss=float(link_loss[link]),
                num_links=1,
                rtt_s=RTT_S,
                num_messages=math.ceil(link_bytes[link] / SIZE_BYTES),
            )
            for link in np.flatnonzero((link_loss > 0) & (link_bytes > 0)).tolist()
        )
