"""From a sweep as written to work: every point checked, named and ready to compute."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError, SpecError
from netloom.spec.anchor import files_of
from netloom.spec.nodes import problem_at
from netloom.spec.problems import did_you_mean, refusal
from netloom.spec.sweep.file import SEED, load_sweep
from netloom.spec.sweep.points import expand, where
from netloom.study.inputs import catalog_of
from netloom.study.sweep.question import SweepRequest
from netloom.study.sweep.release import file_digest, release
from netloom.study.sweep.task import Task, canonical
from netloom.workload.huggingface import read_config

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from netloom.parts.load import Catalog
    from netloom.spec.nodes import Plain, TextPosition
    from netloom.spec.scenario import Scenario
    from netloom.spec.sweep.file import SweepSpec
    from netloom.spec.sweep.points import SweepPoint
    from netloom.study.sweep.question import SweepQuestion

__all__ = ["PlannedPoint", "SweepPlan", "plan_sweep"]

DEFAULT_SEED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPoint:
    """One point of a sweep, ready to compute.

    Attributes:
        values: What varies, by path.
        seed: None where the question has no randomness.
        asked: All that the answer depends on, as JSON; its SHA-256 is the task's key.
    """

    index: int
    values: Mapping[str, Plain]
    seed: int | None
    asked: str
    task: Task

    @property
    def key(self) -> str:
        """Names the point in a store."""
        return self.task.key


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """A checked sweep.

    Attributes:
        name: Its file; empty without one.
        question_name: What is asked.
        axes: The paths of what varies, but the seed.
        release: The netloom that computes it.
    """

    name: str
    question_name: str
    question: SweepQuestion
    axes: tuple[str, ...]
    points: tuple[PlannedPoint, ...]
    release: str

    @property
    def varies_seed(self) -> bool:
        """Whether points differ by seed."""
        return any(SEED in point.values for point in self.points)


def plan_sweep(
    source: str | os.PathLike[str] | Mapping[str, object],
    *,
    questions: Mapping[str, SweepQuestion],
) -> SweepPlan:
    """Return the sweep in a file or a dict, every point of it checked; nothing is computed.

    Args:
        source: A YAML or JSON file, or plain values.
        questions: What can be asked.

    Raises:
        SpecError: something in it is wrong; the message says where, and the remedy.
        CatalogError: a point names a part that does not exist.
    """
    spec = load_sweep(source)
    question = _question(spec, questions)
    points = expand(spec, options=question.options)
    inspector = _Inspector(spec)
    tasks = [inspector.task(point, question) for point in points]
    return SweepPlan(
        name=spec.name,
        question_name=spec.question,
        question=question,
        axes=tuple(path for path in spec.paths if path != SEED),
        release=release(),
        points=tuple(
            PlannedPoint(
                index=index, values=point.values, seed=task.asked.seed, asked=asked, task=task
            )
            for index, (point, (task, asked)) in enumerate(zip(points, tasks, strict=True))
        ),
    )


def _question(spec: SweepSpec, questions: Mapping[str, SweepQuestion]) -> SweepQuestion:
    question = questions.get(spec.question)
    if question is None:
        text = f"{spec.question!r} is not known here; {did_you_mean(spec.question, questions)}"
        problem = problem_at(spec.question_place, "question", text)
        raise refusal(spec.name, [problem])
    if SEED in spec.paths and not question.seeded:
        text = (
            f"{spec.question!r} has no randomness, every seed would give the same answer; "
            "leave 'seed' out"
        )
        raise refusal(spec.name, [problem_at(_seed_place(spec), SEED, text)])
    return question


def _seed_place(spec: SweepSpec) -> TextPosition | None:
    listed = [point[SEED].key_place for point in spec.points if SEED in point]
    varied = [axis.values[0].key_place for axis in spec.grid if axis.path == SEED]
    return next(iter([*listed, *varied]), None)


class _Inspector:
    """Looks into the files that points name, each once."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        self._release = release()
        self._catalogs: dict[str | None, Catalog] = {}
        self._digests: dict[str, str] = {}
        self._known: set[tuple[object, ...]] = set()

    def task(self, point: SweepPoint, question: SweepQuestion) -> tuple[Task, str]:
        """Return the point's task, and all that its answer depends on as JSON."""
        scenario = point.scenario
        self._check_names(point)
        seed = point.seed if point.seed is not None or not question.seeded else DEFAULT_SEED
        files = tuple((path, self._digest(path)) for path in self._files(scenario))
        asked = canonical(
            {
                "question": self._spec.question,
                "options": point.options.model_dump(mode="json") if point.options else None,
                "scenario": scenario.model_dump(mode="json"),
                "files": files,
                "seed": seed,
                "netloom": self._release,
            }
        )
        task = Task(
            key=hashlib.sha256(asked.encode()).hexdigest(),
            ask=question.ask,
            asked=SweepRequest(scenario=scenario, options=point.options, seed=seed),
            files=files,
            release=self._release,
        )
        return task, asked

    def _check_names(self, point: SweepPoint) -> None:
        """Look up every part that the scenario names."""
        scenario = point.scenario
        fabric = scenario.cluster.fabric
        names = (
            scenario.catalog,
            scenario.cluster.node,
            fabric.technology,
            fabric.switch,
            None if scenario.job_given is None else scenario.job.model,
            scenario.compare,
        )
        if names in self._known:
            return
        for field, look_up in _LOOK_UPS.items():
            try:
                look_up(scenario, self._catalog(scenario))
            except NetloomError as error:
                place = where(self._spec, point.nodes, field)
                raise error.inside(replace(place, key=field)) from error
        self._known.add(names)

    def _catalog(self, scenario: Scenario) -> Catalog:
        if scenario.catalog not in self._catalogs:
            self._catalogs[scenario.catalog] = catalog_of(scenario)
        return self._catalogs[scenario.catalog]

    def _files(self, scenario: Scenario) -> Iterator[str]:
        """Yield the files outside netloom that the answer depends on."""
        if scenario.catalog is not None:
            yield scenario.catalog
            gpus = self._catalog(scenario).gpus.values()
            yield from sorted({gpu.calibration for gpu in gpus if gpu.calibration})
        yield from files_of(scenario)

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            try:
                self._digests[path] = file_digest(Path(path))
            except OSError as error:
                raise SpecError(
                    file=str(path),
                    what=f"cannot be read ({error.strerror})",
                    remedy="check the path",
                ) from error
        return self._digests[path]


def _look_up_switch(scenario: Scenario, catalog: Catalog) -> None:
    if scenario.cluster.fabric.switch is not None:
        catalog.switch(scenario.cluster.fabric.switch)


def _look_up_model(scenario: Scenario, catalog: Catalog) -> None:
    if scenario.job_given is None:
        return
    name = scenario.job.model
    if name.endswith(".json"):
        read_config(Path(name))
    else:
        catalog.model(name)


def _look_up_compared(scenario: Scenario, catalog: Catalog) -> None:
    for name in scenario.compare:
        catalog.technology(name)


_LOOK_UPS: Final[Mapping[str, Callable[[Scenario, Catalog], object]]] = {
    "catalog": lambda _scenario, _catalog: None,  # reading it is the check
    "cluster.node": lambda scenario, catalog: catalog.node(scenario.cluster.node),
    "cluster.fabric.technology": lambda scenario, catalog: catalog.technology(
        scenario.cluster.fabric.technology
    ),
    "cluster.fabric.switch": _look_up_switch,
    "job.model": _look_up_model,
    "compare": _look_up_compared,
}
