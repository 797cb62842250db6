"""Trials as pieces of work that any process can do, and a store can keep."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.spec.anchor import files_of
from netloom.study.inputs import catalog_of
from netloom.study.sweep.plan import PlannedPoint, SweepPlan
from netloom.study.sweep.question import SweepQuestion, SweepRequest
from netloom.study.sweep.release import file_digest, release
from netloom.study.sweep.task import Task, canonical
from netloom.study.tune.measure import TrialOptions, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from netloom.spec.scenario import Scenario
    from netloom.spec.strict import Strict

__all__ = ["QUESTION", "TrialRequest", "planned_trials"]

QUESTION: Final = "tune"
TrialRequest = tuple["Scenario", "Strict", int]


def planned_trials(
    requests: Sequence[TrialRequest],
    *,
    ask: Callable[[SweepRequest], dict[str, Any]] = measured,
    name: str = QUESTION,
) -> SweepPlan:
    """Return *requests* (scenario, options, seed) as points that a sweep's driver computes.

    Args:
        requests: What to run.
        ask: What answers one of them.
        name: Of the question, in stores.
    """
    question = SweepQuestion(ask=ask, shown=("value",), seeded=True, options=TrialOptions)
    files: dict[int, tuple[tuple[str, str], ...]] = {}
    points = []
    for index, (scenario, options, seed) in enumerate(requests):
        found = files.setdefault(id(scenario), tuple(_files(scenario)))
        asked = canonical(
            {
                "question": name,
                "options": options.model_dump(mode="json"),
                "scenario": scenario.model_dump(mode="json"),
                "files": found,
                "seed": seed,
                "netloom": release(),
            }
        )
        task = Task(
            key=hashlib.sha256(asked.encode()).hexdigest(),
            ask=ask,
            asked=SweepRequest(scenario=scenario, options=options, seed=seed),
            files=found,
            release=release(),
        )
        points.append(PlannedPoint(index=index, values={}, seed=seed, asked=asked, task=task))
    return SweepPlan(
        name="",
        question_name=name,
        question=question,
        axes=(),
        points=tuple(points),
        release=release(),
    )


def _files(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield path and digest of the files that answers depend on."""
    if scenario.catalog is not None:
        yield scenario.catalog, file_digest(Path(scenario.catalog))
        gpus = catalog_of(scenario).gpus.values()
        for path in sorted({gpu.calibration for gpu in gpus if gpu.calibration}):
            yield path, file_digest(Path(path))
    for path in files_of(scenario):
        yield path, file_digest(Path(path))
