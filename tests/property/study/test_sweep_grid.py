from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import SpecError
from netloom.spec.sweep.file import load_sweep
from netloom.spec.sweep.points import expand

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.spec.scenario import Scenario

SCENARIO = {
    "cluster": {"nodes": 4},
    "job": {"model": "gpt-2-1.5b", "training": {"global_batch": 32}},
}
FIELDS: dict[str, Callable[[Scenario], int | None]] = {
    "cluster.nodes": lambda scenario: scenario.cluster.nodes,
    "job.training.global_batch": lambda scenario: scenario.job.trained.global_batch,
    "job.parallel.tensor": lambda scenario: scenario.job.parallel.tensor,
}
DEFAULTS = {"cluster.nodes": 4, "job.training.global_batch": 32, "job.parallel.tensor": 1}
counts = st.lists(st.integers(1, 4096), min_size=1, max_size=4, unique=True)
grids = st.dictionaries(st.sampled_from(list(FIELDS)), counts, min_size=1)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(grids)
def test_every_combination_occurs_once_and_holds_what_it_says(grid: dict[str, list[int]]) -> None:
    points = expand(load_sweep({"base": SCENARIO, "question": "q", "grid": grid}), options=None)
    assert len(points) == math.prod(len(values) for values in grid.values())
    assert len({tuple(point.values.items()) for point in points}) == len(points)
    for point in points:
        assert all(value in grid[path] for path, value in point.values.items())
        for path, read in FIELDS.items():
            assert read(point.scenario) == point.values.get(path, DEFAULTS[path])


@given(
    st.dictionaries(st.sampled_from(["base", "question", "options", "grid", "points"]), anything),
    st.sampled_from([*FIELDS, "seed", "options.x", "cluster"]),
    anything,
)
def test_any_other_sweep_is_read_or_refused(
    asked: dict[str, Any], path: str, values: object
) -> None:
    for sweep in (asked, {"base": SCENARIO, "question": "q", "grid": {path: values}}):
        with contextlib.suppress(SpecError):
            expand(load_sweep(sweep), options=None)
