"""``netloom check``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.options import Output, OwnParts
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.study.check import ScenarioCheck, require_feasible
from netloom.study.inputs import catalog_of

__all__ = ["check"]


def check(
    file: Path,
    /,
    *,
    own: OwnParts = None,
    output: Output = Output(),  # noqa: B008  (frozen)
) -> int:
    """Read a scenario and say what is wrong with it.

    Everything that predict would refuse: keys, types, units and ranges, parts that do not exist,
    parallelism that does not multiply out, a network that cannot be built, a model that does
    not fit; with a 'serving' section, also what infer would refuse, and without 'job.training'
    beside it only that; with 'traffic', also what simulate would. All problems are told, each with
    its line.

    Args:
        file: A scenario, YAML or JSON.
    """
    with scenario_at(file) as scenario:
        require_feasible(scenario, catalog_of(scenario, own))
    return show(ScenarioCheck(), output, lambda: f"{file}: ok")
