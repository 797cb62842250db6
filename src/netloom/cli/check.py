"""``netloom check``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["check"]


def check(file: Path, /) -> None:
    """Read a scenario and say what is wrong with it.

    Everything that predict would refuse: keys, types, units and ranges, parts that do not exist,
    parallelism that does not multiply out, a network that cannot be built, a model that does
    not fit; with a 'serving' section, also what infer would refuse, and without 'job.training'
    beside it only that.

    Args:
        file: A scenario, YAML or JSON.
    """
    # Imported here: the help of the command needs none of it.
    from netloom.cli.scenario import scenario_at  # noqa: PLC0415
    from netloom.study.predict import predict  # noqa: PLC0415
    from netloom.study.serve import infer  # noqa: PLC0415

    with scenario_at(file) as scenario:
        if scenario.serving is None or scenario.job.training is not None:
            predict(scenario)
        if scenario.serving is not None:
            infer(scenario)
    print(f"{file}: ok")
