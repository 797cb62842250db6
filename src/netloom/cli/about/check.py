"""``netloom check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netloom.errors import NetloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.spec.scenario import Scenario

__all__ = ["check"]


def check(file: Path, /) -> None:
    """Read a scenario and say what is wrong with it.

    Everything that predict would refuse: keys, types, units and ranges, parts that do not exist,
    parallelism that does not multiply out, a network that cannot be built, a model that does
    not fit; with a 'serving' section, also what infer would refuse, and without 'job.training'
    beside it only that; with 'traffic', also what simulate would. All problems are told, each with
    its line.

    Args:
        file: A scenario, YAML or JSON.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415

    with scenario_at(file) as scenario:
        errors = [error for ask in _questions(scenario) if (error := _error_of(ask, scenario))]
        if errors:
            every = dict.fromkeys(problem for error in errors for problem in error.problems)
            raise type(errors[0]).of(*every)
    print(f"{file}: ok")


def _questions(scenario: Scenario) -> Iterator[Callable[[Scenario], object]]:
    """Yield what can be asked of *scenario*."""
    from netloom.study.predict.prediction import predict  # noqa: PLC0415
    from netloom.study.serving.inference import infer  # noqa: PLC0415

    if scenario.traffic is not None:
        yield _simulate
    given = scenario.job_given
    if given is not None and (scenario.serving is None or given.training is not None):
        yield predict
    if scenario.serving is not None:
        yield infer


def _simulate(scenario: Scenario) -> None:
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.simulate.cost import cost_of  # noqa: PLC0415
    from netloom.study.simulate.run import case_of  # noqa: PLC0415  (native code)

    cost_of(case_of(scenario, catalog_of(scenario)), 0)


def _error_of(ask: Callable[[Scenario], object], scenario: Scenario) -> NetloomError | None:
    try:
        ask(scenario)
    except NetloomError as error:
        return error
    return None
