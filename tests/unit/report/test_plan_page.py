"""The page of a plan, and its text."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from netloom.parts.load import load_catalog
from netloom.report.charts import SECONDS
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


def test_every_machine_is_a_row_of_the_fronts_table(found: Plan, page: str) -> None:
    (figure,) = re.findall(r'<figure class="card" id="front".*?</figure>', page, re.DOTALL)
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', figure)
    assert len(rows) == len(found.machines) == 6
    best = [time for name, time in rows if name.startswith("no other is both faster and cheaper")]
    assert best == [SECONDS.write(one.step.duration_s) for one in found.pareto]


def test_the_page_has_its_two_figures(page: str) -> None:
    assert re.findall(r'<figure class="card" id="(\w+)"', page) == ["front", "parts"]


def test_a_name_cannot_end_the_markup_it_stands_in(page: str) -> None:
    assert "</script><b>x" not in page
    assert "&lt;/script&gt;&lt;b&gt;x" in page


def test_the_page_says_how_far_to_trust_each_of_the_best(found: Plan, page: str) -> None:
    assert "How far to trust each" in page
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
