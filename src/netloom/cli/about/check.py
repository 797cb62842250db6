"""``netloom check``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["check"]


def check(file: Path, /) -> None:
    """Read a scenario and say what is wrong with it.

    Everything that predict would refuse: keys, types, units and ranges, parts that do not exist,
    parallelism that does not multiply out, a network that cannot be built, a model that does
    not fit; with a 'serving' section, also what infer would refuse, and without 'job.training'
    beside it only that; with 'traffic', also what simulate would.

    Args:
        file: A scenario, YAML or JSON.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.inputs import catalog_of  # noqa: PLC0415
    from netloom.study.predict.prediction import predict  # noqa: PLC0415
    from netloom.study.serving.inference import infer  # noqa: PLC0415

    with scenario_at(file) as scenario:
        if scenario.traffic is not None:
            from netloom.study.simulate.cost import cost_of  # noqa: PLC0415
            from netloom.study.simulate.run import case_of  # noqa: PLC0415  (native code)

            cost_of(case_of(scenario, catalog_of(scenario)), 0)
        given = scenario.job_given
        if given is not None and (scenario.serving is None or given.training is not None):
            predict(scenario)
        if scenario.serving is not None:
            infer(scenario)
    print(f"{file}: ok")
