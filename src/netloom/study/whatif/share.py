"""Several jobs on one fabric: how much each is slowed by the others.

Each job alternates between traffic of a few kinds and silence. When a job sends, each of the
others is found in one of its own states, with the share of time that the state takes: phases are
independent, since jobs are not synchronised. Where wants add up to more than a link carries,
all are cut in proportion. A slowed job sends for longer, so shares and slowdowns are repeated
until they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import InfeasibleError, SpecError, at
from netloom.fabric.build import build
from netloom.provenance import Validity
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.whatif.tenancy import chosen_nodes, seat_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario, SharedJob
    from netloom.study.whatif.tenancy import Key, Seated

__all__ = ["Lot", "Sharing", "Span", "seated_jobs", "share"]

MAX_STATES: Final = 512  # of the other jobs together; of more, as many are drawn
MAX_ROUNDS: Final = 100
ROUNDING: Final = 1e-9  # of a step
SETTLED: Final = 1e-9  # relative change of a step at which repeating ends
UNMEASURED: Final = Validity(
    ("How jobs on one network slow one another was not compared with a measurement.",)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time in which the same jobs run.

    Attributes:
        end_s: None for the last, when some job never ends.
        steps_s: The step time of each job that runs, by its number.
    """

    start_s: float
    end_s: float | None
    steps_s: dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """What becomes of one job.

    Attributes:
        nodes: Those it stands on, in the order of its places.
        alone_s: A step with the network to itself.
        step_s: A step in the mean over its life; of a job that never ends, in the last span.
        worst_s: A step when every other job always sends what hurts most.
        finish_s: None when it never ends.
    """

    name: str
    nodes: tuple[int, ...]
    arrival_s: float
    alone_s: float
    step_s: float
    worst_s: float
    finish_s: float | None

    @property
    def slowdown(self) -> float:
        """Step time over that alone."""
        return self.step_s / self.alone_s

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "job": self.name,
            "num_nodes": len(self.nodes),
            "arrival_s": self.arrival_s,
            "alone_s": self.alone_s,
            "step_time_s": self.step_s,
            "slowdown": self.slowdown,
            "worst_s": self.worst_s,
            "worst_slowdown": self.worst_s / self.alone_s,
            "finish_s": self.finish_s,
            "nodes": list(self.nodes),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharing(Tabular):
    """Several jobs on one fabric."""

    scenario: Scenario
    network: Network
    fabric: Fabric
    lots: tuple[Lot, ...]
    spans: tuple[Span, ...]
    validity: Validity

    def table(self) -> Table:
        """Return one row a job."""
        rows = [lot.to_json() for lot in self.lots]
        return Table.from_rows([{k: v for k, v in r.items() if k != "nodes"} for r in rows])

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "technology": self.network.technology.name,
            "jobs": [lot.to_json() for lot in self.lots],
            "spans": [
                {
                    "start_s": span.start_s,
                    "end_s": span.end_s,
                    "step_time_s": {self.lots[k].name: v for k, v in span.steps_s.items()},
                }
                for span in self.spans
            ],
            "validity": self.validity.to_json(),
        }


def share(scenario: Scenario, catalog: Catalog | None = None) -> Sharing:
    """Return how much the jobs of *scenario* slow one another, by the flow engine.

    Jobs are placed in the order of the file, and keep their nodes.

    >>> import netloom as nl
    >>> [job.slowdown for job in nl.share(nl.load("jobs.yaml")).lots]  # doctest: +SKIP

    Raises:
        NetloomError: there are no jobs, they need more nodes than there are, or one cannot run.
    """
    if scenario.jobs is None:
        raise SpecError(
            key="jobs",
            what="this scenario has none",
            remedy="add some, such as 'jobs: [{nodes: 16, job: {...}}, ...]'",
        )
    parts = catalog or catalog_of(scenario)
    network = network_of(scenario.cluster, parts)
    fabric = build(network.design, network.node, network.scale_up)
    seated = _seated(scenario, scenario.jobs, parts, (network, fabric))
    spans = _spans(scenario.jobs, seated)
    lots = tuple(
        Lot(
            name=tenant.name or f"job {number + 1}",
            nodes=tuple(seated[number].seat.nodes.tolist()),
            arrival_s=tenant.arrival_s,
            alone_s=float(seated[number].step.duration_s),
            step_s=_lived(spans, number, tenant),
            worst_s=_worst_s(seated, number),
            finish_s=_finish(spans, number, tenant),
        )
        for number, tenant in enumerate(scenario.jobs)
    )
    validity = UNMEASURED
    for one in seated:
        validity &= one.step.validity
    return Sharing(
        scenario=scenario,
        network=network,
        fabric=fabric,
        lots=lots,
        spans=tuple(spans),
        validity=validity,
    )


def seated_jobs(scenario: Scenario, catalog: Catalog) -> tuple[list[Seated], list[str]]:
    """Return the jobs of *scenario*, each alone on its nodes of the one network, and their names.

    Raises:
        NetloomError: there are no jobs, they need more nodes than there are, or one cannot run.
    """
    if scenario.jobs is None:
        raise SpecError(key="jobs", what="this scenario has none", remedy="add some")
    network = network_of(scenario.cluster, catalog)
    fabric = build(network.design, network.node, network.scale_up)
    seated = _seated(scenario, scenario.jobs, catalog, (network, fabric))
    return seated, [one.name or f"job {n + 1}" for n, one in enumerate(scenario.jobs)]


def _seated(
    scenario: Scenario,
    tenants: Sequence[SharedJob],
    catalog: Catalog,
    where: tuple[Network, Fabric],
) -> list[Seated]:
    network, fabric = where
    places = _places(tenants, network)
    found = []
    for number, (tenant, nodes) in enumerate(zip(tenants, places, strict=True)):
        with at(f"jobs.{number}"):
            model = model_of(scenario.model_copy(update={"job": tenant.job}), catalog)
            seat = seat_of(
                tenant.job,
                model=model,
                network=network,
                fabric=fabric,
                nodes=nodes,
                seed=tenant.placement.seed,
            )
            found.append(seat.alone())
    return found


def _places(tenants: Sequence[SharedJob], network: Network) -> list[NDArray[np.int64]]:
    """Return the nodes of each job, those of jobs before it being taken."""
    free = np.arange(network.design.num_nodes)
    leaf_nodes = max(1, network.design.reaches[0].num_nodes)
    found = []
    for number, tenant in enumerate(tenants):
        with at(f"jobs.{number}"):
            found.append(chosen_nodes(free, tenant.nodes, tenant.placement, leaf_nodes=leaf_nodes))
        free = np.setdiff1d(free, found[-1])
    return found


def together(seated: Sequence[Seated], running: Sequence[int]) -> dict[int, float]:
    """Return the step time of each job of *running* while all of these run.

    Raises:
        InfeasibleError: shares and slowdowns do not settle.
    """
    steps = {k: float(seated[k].step.duration_s) for k in running}
    busy = {k: dict(seated[k].busy_s) for k in running}
    for _ in range(MAX_ROUNDS):
        before = steps
        shares = {k: _shares(busy[k], steps[k]) for k in running}
        steps, busy = {}, {}
        for k in running:
            others = [(seated[j], shares[j]) for j in running if j != k]
            slowed = _mean_slowdowns(seated[k], others)
            step, busy[k] = seated[k].seat.slowed(slowed)
            steps[k] = float(step.duration_s)
        if all(abs(steps[k] - before[k]) <= SETTLED * steps[k] for k in running):
            return steps
    raise InfeasibleError(
        key="jobs", what="shares and slowdowns do not settle", remedy="leave a job out"
    )


def _shares(busy_s: dict[Key, float], step_s: float) -> dict[Key, float]:
    """Return the share of time that a job spends on each kind of traffic, together at most 1."""
    total = max(step_s, sum(busy_s.values()))
    return {key: time_s / total for key, time_s in busy_s.items()}


def _mean_slowdowns(
    mine: Seated, others: Sequence[tuple[Seated, dict[Key, float]]]
) -> dict[Key, float]:
    """Return the slowdown of each of a job's traffic, in the mean over what the others do."""
    states = [
        [(1 - sum(share.values()), None), *((p, j.presses[key].share) for key, p in share.items())]
        for j, share in others
    ]
    return {key: _mean(press.share, states) for key, press in mine.presses.items()}


State = tuple[float, "NDArray[np.float64] | None"]


def _mean(mine: NDArray[np.float64], states: Sequence[Sequence[State]]) -> float:
    alone = max(1.0, float(mine.max(initial=0.0)))
    met = np.zeros(len(mine), dtype=np.bool_)
    for job in states:
        for _, want in job:
            if want is not None:
                met |= (mine > 0) & (want > 0)
    links = np.flatnonzero(met)
    if not len(links):
        return alone
    near = [[(p, None if want is None else want[links]) for p, want in job] for job in states]
    total = 0.0
    for weight, wants in _combinations(near):
        asked = mine[links] + sum((want for want in wants if want is not None), np.zeros(1))
        total += weight * max(alone, float(asked.max()))
    return total


def _combinations(
    states: Sequence[Sequence[State]],
) -> list[tuple[float, list[NDArray[np.float64] | None]]]:
    """Return what all others may be doing at once with its weight; drawn where it is too much."""
    if prod(len(job) for job in states) <= MAX_STATES:
        return [(prod(p for p, _ in one), [want for _, want in one]) for one in product(*states)]
    rng = np.random.default_rng(0)
    drawn = []
    for job in states:
        weight = np.maximum([p for p, _ in job], 0.0)
        drawn.append(rng.choice(len(job), size=MAX_STATES, p=weight / weight.sum()))
    return [
        (1 / MAX_STATES, [job[which[n]][1] for job, which in zip(states, drawn, strict=True)])
        for n in range(MAX_STATES)
    ]


def _worst_s(seated: Sequence[Seated], number: int) -> float:
    """Return a step when the others always ask of each link the most they ever ask of it."""
    mine = seated[number]
    others = [job for k, job in enumerate(seated) if k != number and job.presses]
    most = [np.maximum.reduce([press.share for press in j.presses.values()]) for j in others]
    states: list[list[State]] = [[(1.0, want)] for want in most]
    slowed = {key: _mean(press.share, states) for key, press in mine.presses.items()}
    return float(mine.seat.slowed(slowed)[0].duration_s)


def _spans(tenants: Sequence[SharedJob], seated: Sequence[Seated]) -> list[Span]:
    """Return what runs when, from the first arrival until nothing changes any more."""
    left: dict[int, float] = {}
    waiting = sorted(range(len(tenants)), key=lambda k: (tenants[k].arrival_s, k))
    known: dict[tuple[int, ...], dict[int, float]] = {}
    spans: list[Span] = []
    now_s = tenants[waiting[0]].arrival_s
    while waiting or left:
        while waiting and tenants[waiting[0]].arrival_s <= now_s:
            number = waiting.pop(0)
            left[number] = float(tenants[number].steps or np.inf)
        running = tuple(sorted(left))
        if running not in known:
            known[running] = together(seated, running)
        steps_s = known[running]
        ends = [now_s + left[k] * steps_s[k] for k in running]
        if waiting:
            ends.append(tenants[waiting[0]].arrival_s)
        end_s = min(ends, default=np.inf)
        last = not np.isfinite(end_s)
        spans.append(Span(start_s=now_s, end_s=None if last else end_s, steps_s=steps_s))
        if last:
            break
        for k in running:
            left[k] -= (end_s - now_s) / steps_s[k]
        left = {k: steps for k, steps in left.items() if steps > ROUNDING}
        now_s = end_s
    return spans


def _lived(spans: Sequence[Span], number: int, tenant: SharedJob) -> float:
    mine = [span for span in spans if number in span.steps_s]
    if tenant.steps is None:
        return mine[-1].steps_s[number]
    assert mine[-1].end_s is not None, tenant
    return (mine[-1].end_s - tenant.arrival_s) / tenant.steps


def _finish(spans: Sequence[Span], number: int, tenant: SharedJob) -> float | None:
    mine = [span for span in spans if number in span.steps_s]
    return None if tenant.steps is None else mine[-1].end_s
