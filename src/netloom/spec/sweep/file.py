"""Read a sweep: one scenario, a question, and what varies from point to point."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from netloom.errors import Problem, SpecError
from netloom.spec.compose import compose
from netloom.spec.files import read_text
from netloom.spec.load import MAX_FILE_BYTES, NO_FILE
from netloom.spec.nodes import (
    DocumentNode,
    MalformedError,
    TextPosition,
    from_plain,
    plain,
    problem_at,
    where_of,
)
from netloom.spec.problems import explain, refusal
from netloom.spec.scenario import Name
from netloom.spec.strict import Strict

__all__ = [
    "MAX_POINTS",
    "SEED",
    "Base",
    "GridAxis",
    "SweepSpec",
    "load_sweep",
    "sweep_example_text",
]

MAX_POINTS: Final = 100_000
MAX_SEED: Final = 2**63 - 1
SEED: Final = "seed"
OPTIONS: Final = "options"


class _File(Strict):
    """The keys of a sweep file; what varies is checked value by value, to say where it stands."""

    base: Any = Field(description="The path of a scenario file, or a scenario")
    question: Name = Field(description="What is asked of every point, such as predict")
    options: Any = Field(default=None, description="Options of the question, by name")
    grid: Any = Field(default=None, description="Paths such as cluster.nodes, each with a list")
    points: Any = Field(default=None, description="A list of points, each a path with a value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The scenario that every point starts from.

    Attributes:
        name: Its file, for messages; that of the sweep where it stands inside it.
        folder: What its paths are relative to; None where they stay as given.
    """

    name: str
    node: DocumentNode
    folder: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridAxis:
    """One thing that the grid varies.

    Attributes:
        path: ``cluster.nodes``, ``seed``, ``options.engine``.
        values: Each with its place in the file.
    """

    path: str
    values: tuple[DocumentNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSpec:
    """A sweep as it was written: well formed, its points not yet checked.

    Attributes:
        name: The file, for messages; empty without one.
        options: Of the question, an empty mapping without.
        points: Values by path; one point without any when the file lists none.
    """

    name: str
    folder: Path | None
    base: Base
    question: str
    question_place: TextPosition | None
    options: DocumentNode
    points: tuple[dict[str, DocumentNode], ...]
    grid: tuple[GridAxis, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """All that varies, in the order written: of the points, then of the grid."""
        listed = [path for point in self.points for path in point]
        return tuple(dict.fromkeys([*listed, *(axis.path for axis in self.grid)]))


def load_sweep(source: str | os.PathLike[str] | Mapping[str, object]) -> SweepSpec:
    """Return the sweep in a YAML or JSON file, or in a dict of plain values.

    The path of the base scenario is relative to the sweep's file.

    Raises:
        SpecError: it, or its base scenario, cannot be read or is wrong; the message lists every
            problem found, each with its line, field, value and remedy.
    """
    name = NO_FILE if isinstance(source, Mapping) else os.fspath(source)
    problems: list[Problem] = []
    try:
        if isinstance(source, Mapping):
            root = from_plain(source)
        else:
            root, problems = compose(_read(name))
    except MalformedError as error:
        raise refusal(name, [error.problem]) from error
    return _Reader(name, root, problems).read()


def sweep_example_text() -> str:
    """Return the YAML of a sweep to start from."""
    file = resources.files("netloom.spec.sweep") / "example.yaml"
    return file.read_text(encoding="utf-8")


def _read(name: str) -> str:
    text = read_text(name, max_bytes=MAX_FILE_BYTES, wanted="a YAML or JSON file")
    if "\0" in text:
        raise SpecError(file=name, what="holds a NUL byte", remedy="this is not a text file")
    return text


class _Reader:
    """Goes through a document and collects what is wrong with it."""

    def __init__(self, name: str, root: DocumentNode, problems: list[Problem]) -> None:
        self._name = name
        self._root = root
        self._problems = list(problems)
        self._folder = Path(name).absolute().parent if name else None

    def read(self) -> SweepSpec:
        if not isinstance(self._root.value, dict):
            what = "a sweep has the keys 'base', 'question' and 'grid' or 'points'"
            raise refusal(self._name, [problem_at(None, "", f"{what}; write them")])
        self._check_keys()
        self._stop_at_problems()
        grid, points = self._grid(), self._points()
        self._check_apart(grid, points)
        self._check_number(grid, points)
        options = self._mapping_at(OPTIONS)
        self._stop_at_problems()
        question = self._root.child("question")
        assert question is not None
        return SweepSpec(
            name=self._name,
            folder=self._folder,
            base=self._base(),
            question=str(question.value),
            question_place=question.place,
            options=options,
            points=points,
            grid=grid,
        )

    def _check_keys(self) -> None:
        try:
            _File.from_file(plain(self._root))
        except ValidationError as error:
            self._problems += explain(error, self._root, _File)

    def _stop_at_problems(self) -> None:
        if self._problems:
            raise refusal(self._name, self._problems)

    def _report(self, field: str, text: str, node: DocumentNode) -> None:
        place = node.place or node.key_place
        self._problems.append(problem_at(place, field, text))

    def _mapping_at(self, key: str) -> DocumentNode:
        node = self._root.child(key)
        if node is None or node.value is None:
            return DocumentNode(value={}, written="a mapping")
        if not isinstance(node.value, dict):
            self._report(key, f"{node.written} stands here; it must be a mapping", node)
        return node

    def _grid(self) -> tuple[GridAxis, ...]:
        node = self._mapping_at("grid")
        entries = node.value if isinstance(node.value, dict) else {}
        return tuple(self._axis(path, values) for path, values in entries.items())

    def _axis(self, path: str, node: DocumentNode) -> GridAxis:
        field = f"grid.{path}"
        self._check_path(path, field, node)
        values = self._seeds(node, field) if path == SEED else self._listed(node, field)
        # An error about the key of a value, such as an unknown one, belongs to the axis.
        keyed = (replace(value, key_place=node.key_place) for value in values)
        return GridAxis(path=path, values=tuple(keyed))

    def _listed(self, node: DocumentNode, field: str) -> tuple[DocumentNode, ...]:
        if not isinstance(node.value, tuple) or not node.value:
            found = "is empty" if node.value in (None, ()) else f"{node.written} stands here"
            self._report(field, f"{found}; it must be a list of values, such as [a, b]", node)
            return ()
        seen: set[str] = set()
        for value in node.value:
            this = repr(plain(value))
            if this in seen:
                self._report(field, f"{value.written} is given twice; keep one", value)
            seen.add(this)
        return node.value

    def _seeds(self, node: DocumentNode, field: str) -> tuple[DocumentNode, ...]:
        values = node.value
        if isinstance(values, dict):
            values = self._seed_range(node, values, field)
        else:
            values = self._listed(node, field)
        for value in values:
            self._check_seed(value, field)
        return values

    def _seed_range(
        self, node: DocumentNode, keys: dict[str, DocumentNode], field: str
    ) -> tuple[DocumentNode, ...]:
        first, count = (keys[key].value if key in keys else None for key in ("from", "count"))
        whole = all(type(number) is int for number in (first, count))
        if set(keys) != {"from", "count"} or not whole:
            text = "a range of seeds has two whole numbers; write {from: 0, count: 16}"
            self._report(field, text, node)
            return ()
        assert isinstance(first, int)
        assert isinstance(count, int)
        if not 1 <= count <= MAX_POINTS:
            self._report(field, f"count: {count} is out of range; give 1 to {MAX_POINTS}", node)
            return ()
        return tuple(
            DocumentNode(value=first + index, written=str(first + index), place=node.place)
            for index in range(count)
        )

    def _check_seed(self, node: DocumentNode, field: str) -> None:
        value = node.value
        if type(value) is not int or not 0 <= value <= MAX_SEED:
            text = f"{node.written} is no seed; give whole numbers from 0 to {MAX_SEED}"
            self._report(field, text, node)

    def _points(self) -> tuple[dict[str, DocumentNode], ...]:
        node = self._root.child("points")
        if node is None or node.value is None:
            return ({},)
        if not isinstance(node.value, tuple) or not node.value:
            text = "it must be a list of points, such as [{cluster.nodes: 64}]"
            self._report("points", f"{node.written} stands here; {text}", node)
            return ({},)
        return tuple(self._point(index, item) for index, item in enumerate(node.value))

    def _point(self, index: int, node: DocumentNode) -> dict[str, DocumentNode]:
        field = f"points[{index}]"
        if not isinstance(node.value, dict) or not node.value:
            text = "a point is a mapping of paths to values, such as {cluster.nodes: 64}"
            self._report(field, f"{node.written} stands here; {text}", node)
            return {}
        for path, value in node.value.items():
            self._check_path(path, f"{field}.{path}", value)
            if path == SEED:
                self._check_seed(value, f"{field}.{path}")
        return dict(node.value)

    def _check_path(self, path: str, field: str, node: DocumentNode) -> None:
        steps = path.split(".")
        if not all(steps):
            text = "is no path; write keys with dots between, such as cluster.nodes"
            self._problems.append(problem_at(node.key_place, field, text))
        elif (steps[0] == SEED and len(steps) > 1) or path == OPTIONS:
            text = "cannot be varied; write 'seed', or options.NAME for one option"
            self._problems.append(problem_at(node.key_place, field, text))

    def _check_apart(
        self, grid: tuple[GridAxis, ...], points: tuple[dict[str, DocumentNode], ...]
    ) -> None:
        """Report values that would overwrite one another."""
        for point in points:
            paths = [*point, *(axis.path for axis in grid)]
            nodes = [*point.values(), *(self._grid_node(axis.path) for axis in grid)]
            for index, path in enumerate(paths):
                for other, node in zip(paths[index + 1 :], nodes[index + 1 :], strict=True):
                    if _overlap(path, other):
                        text = f"varies what {path!r} varies too; keep one of them"
                        problem = problem_at(node.key_place, other, text)
                        self._problems.append(problem)

    def _grid_node(self, path: str) -> DocumentNode:
        grid = self._root.child("grid")
        node = grid.child(path) if grid else None
        assert node is not None
        return node

    def _check_number(
        self, grid: tuple[GridAxis, ...], points: tuple[dict[str, DocumentNode], ...]
    ) -> None:
        num_points = len(points)
        for axis in grid:
            num_points *= max(1, len(axis.values))
        if num_points > MAX_POINTS:
            text = f"{num_points:,} points; {MAX_POINTS:,} are the most, split the sweep"
            self._problems.append(problem_at(None, "grid", text))
        if not grid and points == ({},):
            text = "nothing varies; add 'grid' or 'points'"
            self._problems.append(problem_at(None, "", text))

    def _base(self) -> Base:
        node = self._root.child("base")
        assert node is not None
        if isinstance(node.value, dict):
            return Base(name=self._name, node=node, folder=self._folder)
        if not isinstance(node.value, str) or not node.value:
            text = f"{node.written} stands here; it must be the path of a scenario, or a scenario"
            raise refusal(self._name, [problem_at(node.place, "base", text)])
        path = str((self._folder or Path()) / node.value)
        try:
            text = _read(path)
        except SpecError as error:
            place = where_of(node.place, "base")
            problems = [problem.inside(place) for problem in error.problems]
            raise refusal(self._name, problems) from error
        try:
            root, problems = compose(text)
        except MalformedError as error:
            raise refusal(path, [error.problem]) from error
        if not isinstance(root.value, dict):
            what = "is no scenario; it has the keys 'cluster' and 'job'"
            problems = [*problems, problem_at(None, "", what)]
        if problems:
            raise refusal(path, problems)
        return Base(name=path, node=root, folder=Path(path).absolute().parent)


def _overlap(path: str, other: str) -> bool:
    return (path + ".").startswith(other + ".") or (other + ".").startswith(path + ".")
