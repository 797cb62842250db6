"""From a sweep as written to its points, each with a checked scenario."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError

from netloom.errors import Problem, SpecError, Where
from netloom.spec.anchor import anchored
from netloom.spec.nodes import DocumentNode, Plain, plain, problem_at, where_of
from netloom.spec.problems import explain, in_order
from netloom.spec.scenario import Scenario
from netloom.spec.sweep.file import OPTIONS, SEED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.spec.strict import Strict
    from netloom.spec.sweep.file import SweepSpec

__all__ = ["SweepPoint", "expand", "where"]

MAX_BAD_POINTS: Final = 100  # enough to show what is wrong
M = TypeVar("M", bound="Strict")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One point of a sweep.

    Attributes:
        values: What varies, by path, in the order written.
        nodes: The same with places, for messages.
        options: Of the question; None where it has none.
        seed: None where the sweep does not vary it.
    """

    values: dict[str, Plain]
    nodes: dict[str, DocumentNode]
    scenario: Scenario
    options: Strict | None
    seed: int | None


def expand(spec: SweepSpec, *, options: type[Strict] | None) -> tuple[SweepPoint, ...]:
    """Return every point: each of the list combined with each of the grid, the last axis fastest.

    Args:
        spec: The sweep as written.
        options: What options the question takes; None for none.

    Raises:
        SpecError: a path does not exist or a value will not do; all problems are listed.
    """
    checker = _Checker(spec, options)
    points = [checker.point(nodes) for nodes in _combinations(spec)]
    checker.stop_at_problems()
    return tuple(point for point in points if point is not None)


def where(spec: SweepSpec, nodes: Mapping[str, DocumentNode], field: str) -> Where:
    """Return the file, line and column that decide *field* of the point with these *nodes*."""
    path = _nearest(nodes, field)
    if path is None or not _is_inside(field, path):
        return Where(file=spec.base.name)
    place = nodes[path].place or nodes[path].key_place
    if place is None or not spec.name:
        return Where(file=spec.name)
    return Where(file=spec.name, line=place.line, column=place.column)


def _combinations(spec: SweepSpec) -> Iterator[dict[str, DocumentNode]]:
    paths = [axis.path for axis in spec.grid]
    for point in spec.points:
        for values in itertools.product(*(axis.values for axis in spec.grid)):
            yield point | dict(zip(paths, values, strict=True))


class _Checker:
    """Checks points one by one and collects what is wrong with them."""

    def __init__(self, spec: SweepSpec, options: type[Strict] | None) -> None:
        self._spec = spec
        self._options = options
        self._base_problems: dict[tuple[str, str, str], Problem] = _problems_alone(spec.base.node)
        self._problems: list[tuple[str, Problem]] = []
        self._num_bad = 0

    def point(self, nodes: dict[str, DocumentNode]) -> SweepPoint | None:
        """Return the point with these values; None when something is wrong."""
        if self._num_bad >= MAX_BAD_POINTS:
            return None
        before = len(self._problems)
        own = {path: node for path, node in nodes.items() if path != SEED}
        for_question = {path: node for path, node in own.items() if path.split(".")[0] == OPTIONS}
        for_scenario = {path: node for path, node in own.items() if path not in for_question}
        scenario = self._validated(self._spec.base.node, for_scenario, Scenario)
        options = self._question_options(for_question)
        if len(self._problems) > before or scenario is None:
            self._num_bad += 1
            return None
        seed = nodes[SEED].value if SEED in nodes else None
        assert seed is None or isinstance(seed, int)
        return SweepPoint(
            values={path: plain(node) for path, node in nodes.items()},
            nodes=nodes,
            scenario=_anchored(scenario, self._spec, for_scenario),
            options=options,
            seed=seed,
        )

    def stop_at_problems(self) -> None:
        """Raise what was found, the problems of each file together."""
        by_file: dict[str, list[Problem]] = {}
        for name, problem in self._problems:
            by_file.setdefault(name, []).append(problem)
        if by_file:
            found = [in_order(name, problems) for name, problems in by_file.items()]
            raise SpecError.of(*itertools.chain.from_iterable(found))

    def _question_options(self, nodes: Mapping[str, DocumentNode]) -> Strict | None:
        given = self._spec.options
        if self._options is not None:
            root = DocumentNode(value={OPTIONS: given}, written="a mapping")
            merged = self._merged(root, nodes)
            found = merged.child(OPTIONS) if merged else None
            return self._checked(found, self._options, nodes, below=OPTIONS) if found else None
        if given.value or nodes:
            node = next(iter(nodes.values()), given)
            text = f"{self._spec.question!r} takes none; leave them out"
            place = node.key_place or node.place
            self._add(self._spec.name, problem_at(place, OPTIONS, text))
        return None

    def _validated(
        self, base: DocumentNode, nodes: Mapping[str, DocumentNode], model: type[M]
    ) -> M | None:
        merged = self._merged(base, nodes)
        return self._checked(merged, model, nodes) if merged else None

    def _merged(self, base: DocumentNode, nodes: Mapping[str, DocumentNode]) -> DocumentNode | None:
        merged = base
        for path, node in nodes.items():
            try:
                merged = _put(merged, path.split("."), node)
            except _NoMappingError as error:
                text = f"{error.args[0]} holds {error.args[1]}, which has no keys; shorten the path"
                place = node.key_place or node.place
                self._add(self._spec.name, problem_at(place, path, text))
                return None
        return merged

    def _checked(
        self,
        root: DocumentNode,
        model: type[M],
        nodes: Mapping[str, DocumentNode],
        *,
        below: str = "",
    ) -> M | None:
        try:
            return model.from_file(plain(root))
        except ValidationError as error:
            for problem in explain(error, root, model):
                self._blame(
                    _keyed(problem, ".".join(filter(None, (below, problem.where.key)))), nodes
                )
            return None

    def _blame(self, problem: Problem, nodes: Mapping[str, DocumentNode]) -> None:
        """Note a problem with the value that brought it about, or with the base scenario."""
        key = problem.where.key
        known = self._base_problems.get(_said(problem))
        path = _nearest(nodes, key)
        if known is not None or path is None:
            optional = key.startswith(OPTIONS)
            if self._spec.base.name == self._spec.name and not optional:
                key = f"base.{key}".removesuffix(".")
            name = self._spec.name if optional else self._spec.base.name
            self._add(name, _keyed(problem, key))
        elif _is_inside(key, path):
            self._add(self._spec.name, problem)
        else:
            node = nodes[path]
            what = f"with {path} = {node.written}: {problem.what}"
            place = where_of(node.place or node.key_place, key)
            self._add(self._spec.name, replace(problem, where=place, what=what))

    def _add(self, name: str, problem: Problem) -> None:
        self._problems.append((name, problem))


class _NoMappingError(Exception):
    """A path goes through something that has no keys; carries its path and what stands there."""


def _keyed(problem: Problem, key: str) -> Problem:
    return replace(problem, where=replace(problem.where, key=key))


def _said(problem: Problem) -> tuple[str, str, str]:
    return problem.where.key, problem.what, problem.remedy


def _problems_alone(base: DocumentNode) -> dict[tuple[str, str, str], Problem]:
    try:
        Scenario.from_file(plain(base))
    except ValidationError as error:
        found = explain(error, base, Scenario)
        return {_said(problem): problem for problem in found}
    return {}


def _put(
    node: DocumentNode, steps: list[str], value: DocumentNode, *, above: str = ""
) -> DocumentNode:
    """Return *node* with *value* at the end of the path; mappings on the way are made."""
    if not steps:
        return value
    if node.value is not None and not isinstance(node.value, dict):
        raise _NoMappingError(above, node.written)
    entries = dict(node.value or {})
    missing = DocumentNode(
        value={}, written="a mapping", place=value.place, key_place=value.key_place
    )
    here = ".".join(filter(None, (above, steps[0])))
    entries[steps[0]] = _put(entries.get(steps[0], missing), steps[1:], value, above=here)
    return replace(node, value=entries, written="a mapping")


def _nearest(nodes: Mapping[str, DocumentNode], field: str) -> str | None:
    """Return the path that shares most keys with *field*; None when none shares any."""
    lengths = {path: _num_common(path, field) for path in nodes}
    best = max(lengths, key=lengths.__getitem__, default=None)
    return best if best is not None and lengths[best] else None


def _num_common(path: str, field: str) -> int:
    pairs = zip(path.split("."), field.replace("[", ".[").split("."), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_inside(field: str, path: str) -> bool:
    return _num_common(path, field) == len(path.split("."))


def _anchored(scenario: Scenario, spec: SweepSpec, nodes: Mapping[str, DocumentNode]) -> Scenario:
    """Return the scenario with absolute paths, each relative to the file that names it."""

    def absolute(field: str, name: str) -> str:
        path = _nearest(nodes, field)
        varied = path is not None and _is_inside(field, path)
        folder = spec.folder if varied else spec.base.folder
        return str((folder or Path()).absolute() / name)

    return anchored(scenario, absolute)
