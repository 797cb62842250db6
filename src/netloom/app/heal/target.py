"""What healing aims at: the network of a scenario, and how fast its job runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.designs import design_of
from netloom.app.heal.report import HealTarget
from netloom.errors import InfeasibleError, NetloomError
from netloom.study.inputs import catalog_of
from netloom.study.whatif.failure import bench_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.graph import Fabric
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.whatif.failure import BaselineJob

__all__ = ["step_of", "target_of"]


def target_of(scenario: Scenario | HealTarget, catalog: Catalog | None = None) -> HealTarget:
    """Return the network as designed, and how its job is judged where the scenario has one.

    Args:
        scenario: What should be; a target is returned as it is.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: a part is unknown, or the network cannot be built.
    """
    if isinstance(scenario, HealTarget):
        return scenario
    parts = catalog or catalog_of(scenario)
    if scenario.job_given is None:
        designed = design_of(scenario, parts)
        return HealTarget(
            fabric=designed.fabric, technology=designed.network.technology, step_s=None
        )
    bench = bench_of(scenario, parts)
    return HealTarget(
        fabric=bench.fabric, technology=bench.network.technology, step_s=step_of(bench)
    )


def step_of(bench: BaselineJob) -> Callable[[Fabric], float] | None:
    """Return what tells how long the job's step takes on a fabric: infinite when it cannot run.

    None where it cannot run on the whole network either: such a job says nothing about a plan.
    """

    def step_s(fabric: Fabric) -> float:
        try:
            return bench.run(fabric, seed=bench.seeds[0]).duration_s
        except InfeasibleError:
            return float("inf")

    try:
        bench.run(bench.fabric, seed=bench.seeds[0])
    except NetloomError:
        return None
    return step_s
