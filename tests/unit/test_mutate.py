"""The tool that breaks netloom in small places."""

from __future__ import annotations

import ast

import pytest

from tools import mutate


def after(text: str) -> list[str]:
    """Return what a line can become."""
    return [ast.unparse(new) for _, new in mutate.places(ast.parse(text))]


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a + b * c", ["a - b * c", "b / c"]),
        ("'a' + b", []),  # words
        ("x: 'int | 3' = n", []),  # types
        ("a and not b", ["a or not b", "b"]),
        ("x = min(a, -1)", ["max(a, -1)", "1", "2"]),
        ("x = 0.5", ["1.0"]),
        ("x = True", ["False"]),
        ("total += n", ["pass"]),
        ("assert a < b", []),
        ("message = 'a' if b < 1 else 'c'", []),
        ("if a:\n    b()", ["if not a:\n    b()", "pass"]),
    ],
)
def test_each_place_becomes_its_opposite_or_its_neighbour(text: str, becomes: list[str]) -> None:
    assert after(text) == becomes


def test_equal_seeds_draw_equal_places_of_each_package_in_turn() -> None:
    packages = ["netloom.errors,netloom.units", "netloom.ops.locate"]
    first, again, other = (mutate.drawn(packages, 20, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert sum(one.module.startswith("netloom.ops.locate") for one in first) == 10
    assert len({(one.module, one.place) for one in first}) == 20


def test_a_broken_module_differs_in_its_one_place_and_the_file_does_not() -> None:
    name = "netloom.units"
    before = mutate.path_of(name).read_bytes()
    broken = [mutate.broken(name, one.place) for one in mutate.mutations_of(name)]
    assert len(broken) > 0
    whole = compile(before, mutate.path_of(name), "exec")
    assert all(code != whole for code in broken)
    assert mutate.path_of(name).read_bytes() == before


def test_the_nearest_tests_of_a_module_are_those_that_import_it() -> None:
    name = "netloom.units"
    own = [path for path in mutate.users()[name] if path.endswith(".py")]
    assert own
    found = mutate.nearest_tests(name, len(own) + 1)
    assert {name in mutate.imports_of(mutate.ROOT / path) for path in found[:-1]} == {True}
    assert name not in mutate.imports_of(mutate.ROOT / found[-1])
