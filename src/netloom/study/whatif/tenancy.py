"""A job on some nodes of a cluster: which nodes it gets, and its step there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.engines.flow.contention import RoutedContention
from netloom.engines.flow.engine import FlowEngine
from netloom.errors import InfeasibleError
from netloom.provenance import Why
from netloom.step.predict import predict
from netloom.step.software import practice_for
from netloom.workload.demand import demand
from netloom.workload.placement import layout, num_micro_batches
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.engines.base import Engine, Outcome, Pattern
    from netloom.engines.flow.contention import LinkLoad
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Job, NodePlacement
    from netloom.step.model import Step
    from netloom.workload.collective import Collective, Group

    Key = tuple[Group, Pattern]

__all__ = ["PlacedJob", "Seated", "chosen_nodes", "seat_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedJob:
    """A job and the nodes it stands on.

    Attributes:
        network: The cluster's, but for the number of GPUs, which is the job's.
        fabric: The whole cluster.
        nodes: Which node stands at each place of the job.
        seed: Which draw of the hash.
    """

    job: Job
    model: Model
    network: Network
    fabric: Fabric
    nodes: NDArray[np.int64]
    seed: int = 0

    def alone(self) -> Seated:
        """Return a step with the network to itself.

        Raises:
            NetloomError: the job cannot run on that number of nodes, or two of them have no path.
        """
        routed = RoutedContention(self.seed, self.fabric, self.nodes)
        step, used = self._step(routed)
        presses = {(press.group, press.pattern): press for press in routed.presses()}
        busy_s = {key: time_s for key, time_s in used.items() if key in presses}
        return Seated(seat=self, step=step, presses=presses, busy_s=busy_s)

    def slowed(self, slowdown: Mapping[Key, float]) -> tuple[Step, dict[Key, float]]:
        """Return a step whose hops are slowed as given, and how long each traffic lasts in it."""
        return self._step(_Given(slowdown))

    def unslowed(self) -> Step:
        """Return a step no hop of which is slowed by another."""
        return self._step(_Given({}))[0]

    def _step(self, contention: RoutedContention | _Given) -> tuple[Step, dict[Key, float]]:
        noted = _Noted(contention)
        library = AnalyticEngine(contention=noted)
        engine = _Recording(FlowEngine(library=library), noted)
        step = predict(self.job, model=self.model, network=self.network, engine=engine)
        used: dict[Key, float] = {}
        for item in self._communications():
            key = engine.last[item[0]]
            if key is not None:
                used[key] = used.get(key, 0.0) + item[1] * engine.durations_s[item[0]]
        return step, used

    def _communications(self) -> list[tuple[Collective, int]]:
        plan = layout(
            self.job.parallel,
            node=self.network.node,
            num_gpus=self.network.design.num_gpus,
            placement=self.job.placement,
        )
        batches = num_micro_batches(self.job.trained, plan)
        software = practice_for(self.job, self.network.gpu)
        asked = demand(
            transformer(self.model),
            plan,
            self.job.trained,
            num_micro_batches=batches,
            weights=software.weights,
            modules=software.recompute_modules,
            repeats_keys=software.repeats_keys,
        )
        return [(item.collective, item.count) for item in asked.communications]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seated:
    """A job's step alone on the network.

    Attributes:
        presses: What each of its traffic asks of every link.
        busy_s: How long each lasts in a step, hidden or not.
    """

    seat: PlacedJob
    step: Step
    presses: dict[Key, LinkLoad]
    busy_s: dict[Key, float]


def seat_of(
    job: Job,
    *,
    model: Model,
    network: Network,
    fabric: Fabric,
    nodes: NDArray[np.int64],
    seed: int = 0,
) -> PlacedJob:
    """Return *job* on *nodes*; where they do not stand in a row, as a scattered job.

    Its latency is then that of the farthest nodes.
    """
    in_a_row = bool((np.diff(nodes) == 1).all())
    displaced = {"displaced": 0.0, "kind": "packed" if in_a_row else "scattered"}
    placement = job.placement.model_copy(update=displaced)
    design = replace(network.design, num_gpus=len(nodes) * network.node.num_gpus)
    return PlacedJob(
        job=job.model_copy(update={"placement": placement}),
        model=model,
        network=replace(network, design=design),
        fabric=fabric,
        nodes=nodes,
        seed=seed,
    )


def chosen_nodes(
    free: NDArray[np.int64], count: int, how: NodePlacement, *, leaf_nodes: int
) -> NDArray[np.int64]:
    """Return *count* of the *free* nodes (ascending), in the order of the job's places.

    Args:
        free: Free nodes.
        count: How many.
        how: Which.
        leaf_nodes: Nodes that stand under one leaf, or under one leaf of each rail.

    Raises:
        InfeasibleError: there are not as many.
    """
    if count > len(free):
        raise InfeasibleError(
            what=f"{count:,} nodes are asked for, but {len(free):,} are free",
            remedy="ask for fewer, or enlarge the cluster",
        )
    match how.kind:
        case "packed":
            return free[:count]
        case "scattered":
            return free[np.arange(count) * len(free) // count]
        case "random":
            return np.random.default_rng(how.seed).permutation(free)[:count]
        case "rail-aware":
            return _by_leaf(free, leaf_nodes)[:count]


def _by_leaf(free: NDArray[np.int64], leaf_nodes: int) -> NDArray[np.int64]:
    """Return *free* leaf by leaf, those with most free nodes first, the first of equal ones."""
    leaf = free // leaf_nodes
    count = np.bincount(leaf)
    return free[np.lexsort((free, leaf, -count[leaf]))]


@dataclass(slots=True)
class _Noted:
    """Passes questions on, and remembers the last."""

    contention: RoutedContention | _Given
    key: Key | None = None

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        self.key = (group, pattern)
        return self.contention.slowdown(network, group, pattern, pace=pace)


@dataclass(frozen=True, slots=True)
class _Given:
    """Answers with slowdowns that are known, and 1 for what is not."""

    slowdowns: Mapping[Key, float]

    def slowdown(self, network: Network, group: Group, pattern: Pattern, *, pace: float) -> Why:
        del network, pace
        return Why(
            name="slowdown of the slowest hop",
            value=self.slowdowns.get((group, pattern), 1.0),
            how="mean over what the other jobs may be doing",
        )


@dataclass(slots=True)
class _Recording:
    """Runs collectives, and remembers which traffic each was and how long it took.

    A library that may choose asks for rings first; what it asks for last is what it does.
    """

    engine: Engine
    noted: _Noted
    last: dict[Collective, Key | None] = field(default_factory=dict)
    durations_s: dict[Collective, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.engine.name

    def run(self, collective: Collective, network: Network) -> Outcome:
        self.noted.key = None
        outcome = self.engine.run(collective, network)
        self.last[collective] = self.noted.key
        self.durations_s[collective] = float(outcome.duration_s)
        return outcome
