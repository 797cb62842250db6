"""The page of a plan, and its text."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from netloom.parts.load import load_catalog
from netloom.report.plan.page import plan_page
from netloom.report.plan.text import plan_text
from netloom.spec.scenario import Scenario
from netloom.study.plan.machines import Wanted
from netloom.study.plan.planning import plan, question

if TYPE_CHECKING:
    from netloom.study.plan.result import Plan

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def found() -> Plan:
    scenario = Scenario.model_validate(
        {
            "name": "</script><b>x",
            "cluster": {"nodes": 2},
            "job": {"model": "llama-3.1-8b", "training": {"global_batch": 64}},
        }
    )
    wanted = Wanted(gpus=(8, 16, 32), technologies=("infiniband-ndr", "tcp-400g"))
    return plan(question(scenario, CATALOG, wanted=wanted))


@pytest.fixture(scope="module")
def page(found: Plan) -> str:
    return plan_page(found)


def shown(found: Plan) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(plan_text(found, wall_s=1.0))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_every_machine_is_a_point_of_the_front_or_beside_it(found: Plan, page: str) -> None:
    (text,) = re.findall(r"const plots = (.*);\n", page)
    traces = json.loads(text)["front"]["data"]
    assert sum(len(trace["x"]) for trace in traces) == len(found.machines) == 6
    assert traces[-1]["x"] == [one.step.duration_s for one in found.pareto]


def test_the_page_fetches_nothing_and_has_a_place_for_each_figure(page: str) -> None:
    before, _, _ = page.partition("<script>")
    assert "http" not in before
    assert set(re.findall(r'class="plot" id="(\w+)"', page)) == {"front", "parts"}


def test_a_name_cannot_end_the_markup_it_stands_in(page: str) -> None:
    assert "</script><b>x" not in page
    assert "&lt;/script&gt;&lt;b&gt;x" in page


def test_the_page_says_how_far_to_trust_each_of_the_best(found: Plan, page: str) -> None:
    assert "How far to trust this" in page
    for choice in found.best:
        assert choice.validity.inside or choice.validity.doubts
    assert "rank 1" in page


def test_the_text_plots_the_front_with_a_legend(found: Plan) -> None:
    text = shown(found)
    assert "6 machines at their best" in text
    for letter, one in zip("abcdef", found.pareto, strict=False):
        assert re.search(rf"^{letter}\W .*{re.escape(one.machine.name)}", text, re.MULTILINE) or (
            f"{letter} " in text
        )


def test_one_machine_has_no_front(found: Plan) -> None:
    alone = plan(question(found.scenario, CATALOG))
    assert "machines at their best" not in shown(alone)
    assert 'id="front"' not in plan_page(alone)
