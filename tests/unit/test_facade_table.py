"""``import netloom`` and the command line are one table, and nothing gets in its way."""

from __future__ import annotations

import doctest
import importlib
import inspect
import keyword
import pkgutil
from typing import TYPE_CHECKING, Any

import pytest

import netloom as nl
from netloom.cli.main import build_app
from netloom.commands import COMMANDS, Command, CommandActs, callable_of
from netloom.spec.example import example_text
from netloom.study.predict.engines import engine_named

if TYPE_CHECKING:
    from pathlib import Path

NEEDS_PYTORCH = "netloom.drivers.torch_gpu"


@pytest.fixture(scope="module")
def every_module() -> list[str]:
    """Import every module of the package, as a program that uses much of it would."""
    found = [one.name for one in pkgutil.walk_packages(nl.__path__, "netloom.")]
    for name in found:
        importlib.import_module(name)
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_is_the_same_in_python_whatever_was_imported(
    command: Command, every_module: list[str]
) -> None:
    assert f"netloom.{command.name}" not in every_module
    found = getattr(nl, command.name)
    assert callable(found)
    assert not inspect.ismodule(found)
    for act in command.acts:
        behind = getattr(importlib.import_module(command.call), act)
        assert inspect.unwrap(getattr(found, act)) is inspect.unwrap(behind)
    if not command.acts:
        assert found is callable_of(command)
        assert found.__name__ == command.name


def test_facade_and_command_line_have_the_same_commands() -> None:
    typed = {name for name in build_app().resolved_commands() if not name.startswith("-")}
    assert typed == {command.name for command in COMMANDS}
    assert typed <= set(nl.__all__)
    assert not any(keyword.iskeyword(name) for name in typed)


def test_all_is_what_is_there(every_module: list[str]) -> None:
    assert every_module
    assert nl.__all__ == sorted(set(nl.__all__))
    assert all(getattr(nl, name) is not None for name in nl.__all__)
    of_table = {command.name for command in COMMANDS}
    assert of_table | set(nl._HOME) == set(nl.__all__)
    assert of_table.isdisjoint(nl._HOME)


def _functions() -> list[Any]:
    found: list[Any] = []
    for command in COMMANDS:
        called = callable_of(command)
        acts = [getattr(called, act) for act in command.acts]
        found += acts if isinstance(called, CommandActs) else [called]
    return [*found, nl.rank]


@pytest.mark.parametrize("function", _functions(), ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_every_function_has_an_example_that_is_true(function: Any) -> None:
    tests = doctest.DocTestFinder(recurse=False).find(function)
    assert any(test.examples for test in tests), "no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert sum(runner.run(test).failed for test in tests) == 0


def test_the_path_of_a_scenario_stands_for_it(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(example_text("gpt3-175b-1k"), encoding="utf-8")
    scenario = nl.load(file)
    for name in ("predict", "compare", "goodput", "size"):
        called = getattr(nl, name)
        assert called(str(file)).to_json() == called(scenario).to_json()
    calls: Any = nl  # their hints say Scenario
    assert calls.goodput(scenario=file).to_json() == nl.goodput(scenario).to_json()
    assert calls.deploy.check(file).to_json()
    with pytest.raises(nl.SpecError, match="cannot be read"):
        calls.plan("no-such.yaml")


def test_engines_go_by_name_or_as_they_are() -> None:
    scenario = nl.example("gpt3-175b-1k")
    named = nl.predict(scenario, engine="analytic").step.duration_s
    assert nl.predict(scenario, engine=engine_named("analytic")).step.duration_s == named
    with pytest.raises(nl.SpecError, match="there is no 'wave'"):
        nl.predict(scenario, engine="wave")


def test_one_callback_is_told_how_far_each_function_is() -> None:
    told: list[tuple[int, int]] = []
    scenario = nl.example("gpt3-175b-1k").comparing(("infiniband-hdr", "rocev2-200g"))
    nl.compare(scenario, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    shares: list[tuple[int, int]] = []
    nl.simulate(
        nl.example("incast-rocev2"), on_progress=lambda done, total: shares.append((done, total))
    )
    assert shares == sorted(shares)
    assert all(0 <= done <= total == 1000 for done, total in shares)


def test_the_old_name_of_goodput_still_works() -> None:
    assert nl.uptime is nl.goodput


def test_results_of_every_kind_have_json_a_table_and_html() -> None:
    scenario = nl.example("gpt3-175b-1k")
    for found in (
        nl.catalog(),
        nl.catalog("QM9700"),
        nl.check(scenario),
        nl.diff(scenario, scenario),
        nl.doctor(),
        nl.goodput(scenario),
        nl.simulate(nl.example("incast-rocev2"), engine="flow"),
        nl.validate("gpu-steps"),
    ):
        assert found.to_json()
        assert found.table() is not None
        assert found._repr_html_().startswith("<iframe")
        assert "<table>" in found._repr_html_()  # for where no script runs


def test_check_tells_problems_as_data() -> None:
    good = nl.check(nl.example())
    assert (good.ok, good.problems) == (True, ())
    bad = nl.check({"cluster": {"nodes": 4, "node": "dgx-h100"}, "job": {"model": "none"}})
    assert not bad.ok
    assert all({"where", "what", "remedy"} <= one.keys() for one in bad.problems)
