"""What a failure, a drain or a slow part does to a job's step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.engines.flow.contention import RoutedContention
from netloom.engines.flow.engine import FlowEngine
from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.build import build
from netloom.fabric.cut_off import cut_off, without_port
from netloom.provenance import Validity, Why
from netloom.results.explained import Explained
from netloom.results.interval import mean_interval
from netloom.results.table import Cell, Table
from netloom.results.tabular import Tabular
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.predict.prediction import step_on
from netloom.study.whatif.changes import applied, straggling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.engines.flow.contention import LinkLoad
    from netloom.fabric.graph import Fabric
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Model
    from netloom.spec.scenario import Scenario
    from netloom.step.model import Step
    from netloom.study.whatif.changes import Change

__all__ = [
    "After",
    "BaselineJob",
    "DrawnStep",
    "WhatIf",
    "bench_of",
    "changed",
    "default_seeds",
    "whatif",
]

# Draws of the hash when none are asked for; assumed: enough to see how much they differ.
HASHED_SEEDS = 5


UNMEASURED = Validity(
    ("What a broken or slow part does to a step was not compared with a measured step.",)
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnStep:
    """One step with one draw of the hash.

    Attributes:
        straggler_s: What a slow GPU adds to the step.
        presses: What the collectives ask of every link.
    """

    step: Step
    straggler_s: float
    presses: tuple[LinkLoad, ...]

    @property
    def duration_s(self) -> float:
        """Of the whole step."""
        return float(self.step.duration_s + self.straggler_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BaselineJob:
    """A job on its network, ready to have things happen to it.

    Attributes:
        fabric: Whole.
        seeds: One draw of the hash and of the displaced nodes each.
    """

    scenario: Scenario
    network: Network
    model: Model
    fabric: Fabric
    seeds: tuple[int, ...]

    def run(self, fabric: Fabric, *, seed: int, slowest_gpu: float = 1.0) -> DrawnStep:
        """Return a step on *fabric*.

        Everybody waits for a GPU that is slower by *slowest_gpu*: its computation and weight
        update take that much longer, and what was exposed or idle stays so.

        Raises:
            InfeasibleError: two GPUs that talk have no path left.
        """
        routed = RoutedContention(seed, fabric)
        engine = FlowEngine(library=AnalyticEngine(contention=routed))
        step = step_on(self.network, self.scenario, model=self.model, engine=engine)
        added_s = (slowest_gpu - 1) * (step.compute_s + step.optimizer_s)
        return DrawnStep(step=step, straggler_s=added_s, presses=routed.presses())

    def healthy(self) -> tuple[DrawnStep, ...]:
        """Return a run for each seed on the whole network."""
        return tuple(self.run(self.fabric, seed=seed) for seed in self.seeds)

    def after(self, changes: Sequence[Change]) -> After:
        """Return what is left after *changes*.

        Raises:
            SpecError: there is no such part.
        """
        fabric = applied(self.fabric, changes)
        lost = tuple(without_port(fabric, self.fabric).tolist())
        if lost and self.network.design.num_nodes > 1:  # one node talks over its scale-up alone
            return After(runs=(), cut_off=lost, stopped=_lost_words(lost, self.network))
        slowest = straggling(changes)
        try:
            runs = tuple(self.run(fabric, seed=s, slowest_gpu=slowest) for s in self.seeds)
        except InfeasibleError as error:
            apart = tuple(cut_off(fabric, self.fabric).tolist())
            words = _lost_words(apart, self.network) if apart else str(error)
            return After(runs=(), cut_off=apart, stopped=words)
        return After(runs=runs, cut_off=(), stopped="")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class After:
    """What is left.

    Attributes:
        runs: One for each seed; none when the job stops.
        cut_off: GPUs that the network no longer joins to the rest.
        stopped: Why the job stops; empty when it goes on.
    """

    runs: tuple[DrawnStep, ...]
    cut_off: tuple[int, ...]
    stopped: str

    @property
    def step_s(self) -> float | None:
        """Mean over the seeds; None when the job stops."""
        return fmean(run.duration_s for run in self.runs) if self.runs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """How much the network slows the slowest hop of a collective.

    Attributes:
        pattern: Which member sends to which.
        num_ranks: In a group.
        node_stride: Nodes from one member node to the next.
        after: None when the job stops.
    """

    pattern: str
    num_ranks: int
    node_stride: int
    before: float
    after: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class WhatIf(Tabular, Explained):
    """A job before and after something happened to its network."""

    bench: BaselineJob
    changes: tuple[Change, ...]
    before: tuple[DrawnStep, ...]
    after: After

    @cached_property
    def before_s(self) -> float:
        """Step time on the whole network, mean over the seeds."""
        return fmean(run.duration_s for run in self.before)

    @property
    def after_s(self) -> float | None:
        """Step time afterwards, mean over the seeds; None when the job stops."""
        return self.after.step_s

    @property
    def lost_share(self) -> float:
        """What the job loses of its speed: 1 when it stops; below 0 where a hash was lucky."""
        return 1.0 if self.after_s is None else 1 - self.before_s / self.after_s

    @property
    def nodes_cut_off(self) -> tuple[int, ...]:
        """Nodes with a GPU that is cut off, ascending."""
        return nodes_of(self.after.cut_off, self.bench.network)

    @property
    def validity(self) -> Validity:
        """Of the step before, and of the step after where there is one."""
        runs = (*self.before[:1], *self.after.runs[:1])
        validity = runs[0].step.validity & UNMEASURED
        for run in runs[1:]:
            validity &= run.step.validity
        return validity

    def collectives(self) -> tuple[Pressed, ...]:
        """Return how much the network slows each collective, before and after, first seed."""
        after = self.after.runs[0].presses if self.after.runs else ()
        later = {(press.group, press.pattern): press.slowdown for press in after}
        return tuple(
            Pressed(
                pattern=press.pattern,
                num_ranks=press.group.size,
                node_stride=press.group.node_stride,
                before=press.slowdown,
                after=later.get((press.group, press.pattern)),
            )
            for press in self.before[0].presses
        )

    def explanations(self) -> dict[str, Why]:
        """Return how the loss came about, and the step time before and after."""
        whole = self.whole_explanation()
        keys = ("before.step_time_s", "after.step_time_s")
        return {"lost_share": whole} | dict(zip(keys, whole.parts, strict=False))

    def whole_explanation(self) -> Why:
        """Return how the step time came about, before and after, with the first seed."""
        parts = [_run_why(self.before[0], "step time before")]
        if self.after.runs:
            parts.append(_run_why(self.after.runs[0], "step time after"))
        value: float | str = "the job stops" if self.after_s is None else self.lost_share
        return Why(
            name="speed lost",
            value=value,
            how=self.after.stopped or "1 - step time before / step time after, means over seeds",
            parts=tuple(parts),
        )

    def table(self) -> Table:
        """Return how much the network slows each collective, before and after."""
        return Table.from_rows(_pressed_row(one) for one in self.collectives())

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        before = [run.duration_s for run in self.before]
        after = [run.duration_s for run in self.after.runs]
        return {
            "technology": self.bench.network.technology.name,
            "gpus": self.bench.network.design.num_gpus,
            "changes": [{"act": c.act, "part": c.part, "factor": c.factor} for c in self.changes],
            "seeds": list(self.bench.seeds),
            "before": _over_seeds(before),
            "after": _over_seeds(after) if after else None,
            "lost_share": self.lost_share,
            "collectives": [_pressed_row(one) for one in self.collectives()],
            "stopped": self.after.stopped,
            "gpus_cut_off": list(self.after.cut_off),
            "nodes_cut_off": list(self.nodes_cut_off),
            "validity": self.validity.to_json(),
        }


def _pressed_row(one: Pressed) -> dict[str, Cell]:
    return {
        "pattern": one.pattern,
        "ranks": one.num_ranks,
        "node_stride": one.node_stride,
        "slowdown_before": one.before,
        "slowdown_after": one.after,
    }


def whatif(
    scenario: Scenario,
    changes: Sequence[Change],
    catalog: Catalog | None = None,
    *,
    seeds: Sequence[int] | None = None,
) -> WhatIf:
    """Return a step of *scenario* before and after *changes*, by the flow engine.

    >>> import netloom as nl
    >>> nl.whatif(nl.load("x.yaml"), [nl.Change("fail", "leaf:0")]).lost_share  # doctest: +SKIP

    Args:
        scenario: What was asked for.
        changes: What happens, all of it at once.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        seeds: Draws to take the mean of; without, as :func:`default_seeds` says.

    Raises:
        NetloomError: nothing happens, a part is unknown, or the scenario is impossible.
    """
    return changed(bench_of(scenario, catalog or catalog_of(scenario), seeds=seeds), changes)


def changed(bench: BaselineJob, changes: Sequence[Change]) -> WhatIf:
    """Return *bench* before and after *changes*.

    Raises:
        SpecError: nothing happens, or a part is unknown.
    """
    if not changes:
        raise SpecError(
            key="whatif",
            what="nothing happens",
            remedy="name a part, such as --fail leaf:3, or --rank leaf",
        )
    after = bench.after(changes)
    return WhatIf(bench=bench, changes=tuple(changes), before=bench.healthy(), after=after)


def bench_of(
    scenario: Scenario, catalog: Catalog, *, seeds: Sequence[int] | None = None
) -> BaselineJob:
    """Return the job of *scenario* on its network, whole.

    Raises:
        NetloomError: the scenario is impossible.
    """
    network = network_of(scenario.cluster, catalog)
    fabric = build(network.design, network.node, network.scale_up)
    return BaselineJob(
        scenario=scenario,
        network=network,
        model=model_of(scenario, catalog),
        fabric=fabric,
        seeds=default_seeds(network) if seeds is None else tuple(seeds),
    )


def default_seeds(network: Network) -> tuple[int, ...]:
    """Return one seed where flows are spread over all ways, several where they are hashed."""
    spread = network.technology.load_balancing in {"adaptive", "spray", "cells"}
    return tuple(range(1 if spread else HASHED_SEEDS))


def nodes_of(gpus: Sequence[int], network: Network) -> tuple[int, ...]:
    """Return the nodes that *gpus* sit in, ascending."""
    return tuple(np.unique(np.array(gpus, dtype=np.int64) // network.node.num_gpus).tolist())


def _lost_words(gpus: Sequence[int], network: Network) -> str:
    nodes = nodes_of(gpus, network)
    listed = ", ".join(f"node:{node}" for node in nodes[:8])
    more = f" and {len(nodes) - 8:,} more" if len(nodes) > 8 else ""
    who = "1 GPU" if len(gpus) == 1 else f"{len(gpus):,} GPUs"
    where, these = ("1 node", "it") if len(nodes) == 1 else (f"{len(nodes):,} nodes", "them")
    have = "has" if len(gpus) == 1 else "have"
    return (
        f"{who} in {where} {have} no way to the others left ({listed}{more}); "
        f"restore the part, or take {these} out of the job"
    )


def _over_seeds(values: Sequence[float]) -> dict[str, Any]:
    found = mean_interval(values)
    return {
        "step_time_s": found.mean,
        "low_s": found.low,
        "high_s": found.high,
        "least_s": found.least,
        "most_s": found.most,
    }


def _run_why(run: DrawnStep, name: str) -> Why:
    if not run.straggler_s:
        return Why(name=name, value=run.duration_s, unit="s", parts=(run.step.why,))
    added = Why(
        name="everybody waits for the slow GPU",
        value=run.straggler_s,
        unit="s",
        how="(factor - 1) x (computation + weight update)",
    )
    return Why(
        name=name,
        value=run.duration_s,
        unit="s",
        how="the step, and what the slow GPU adds",
        parts=(run.step.why, added),
    )
