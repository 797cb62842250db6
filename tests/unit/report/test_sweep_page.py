from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counting import QUESTIONS, SCENARIO
from rich.console import Console

from netloom.report.charts import Bars, Plot
from netloom.report.sweep.figures import MAX_LINES, figure
from netloom.report.sweep.page import MAX_PAGE_ROWS, MAX_ROWS, sweep_page, sweep_text
from netloom.study.sweep.drive import Found
from netloom.study.sweep.plan import plan_sweep
from netloom.study.sweep.result import gathered
from netloom.study.sweep.task import do

if TYPE_CHECKING:
    from netloom.study.sweep.result import Sweep


def found(grid: dict[str, Any], **changes: Any) -> Sweep:
    asked = {"base": SCENARIO, "question": "count", "grid": grid} | changes
    plan = plan_sweep(asked, questions=QUESTIONS)
    done = {point.key: do(point.task) for point in plan.points}
    answers = {key: Found(text=one.text, error=one.error) for key, one in done.items()}
    return gathered(plan, answers, wall_s=2.0)


def text_of(sweep: Sweep) -> str:
    console = Console(width=120)
    with console.capture() as capture:
        console.print(sweep_text(sweep))
    return capture.get()


TECHNOLOGIES = ["infiniband-ndr", "tcp-400g"]


def plot_of(sweep: Sweep) -> Plot:
    drawn = figure(sweep, "value_s")
    assert isinstance(drawn, Plot)
    return drawn


def test_a_numeric_axis_is_a_line_for_each_value_of_the_other() -> None:
    grid = {"cluster.fabric.technology": TECHNOLOGIES, "cluster.nodes": [100, 1]}
    drawn = plot_of(found(grid))
    assert [line.name for line in drawn.series] == TECHNOLOGIES
    # Seed 0: 10 x nodes; in the order of the axis.
    assert (drawn.series[0].x, drawn.series[0].y) == ((1.0, 100.0), (10.0, 1000.0))
    assert drawn.x.title == "cluster.nodes"
    assert drawn.x.is_log, "100 is over 20 times 1"


def test_without_a_number_there_are_bars() -> None:
    drawn = figure(found({"cluster.fabric.technology": TECHNOLOGIES}), "value_s")
    assert isinstance(drawn, Bars)
    assert drawn.labels == tuple(TECHNOLOGIES)
    assert len(drawn.parts) == 1


def test_a_number_whose_name_ends_in_seconds_is_a_time() -> None:
    # Seed 0 at 1 and 2 nodes: 10 and 20 s.
    page = sweep_page(found({"cluster.nodes": [1, 2]}))
    assert '<th scope="row">1</th><td>10 s</td>' in page


def test_of_very_many_lines_the_first_are_drawn_and_the_rest_named() -> None:
    grid = {"cluster.nodes": [1, 2], "name": [f"n{number}" for number in range(MAX_LINES + 5)]}
    drawn = plot_of(found(grid))
    assert len(drawn.series) == MAX_LINES
    assert drawn.aside == "The first 24 combinations; 5 more are in the table."


def test_seeds_are_drawn_as_their_mean_and_interval() -> None:
    grid = {"cluster.nodes": [1, 2], "seed": {"from": 0, "count": 3}}
    sweep = found(grid, options={"refuse": [1]})
    (line,) = plot_of(sweep).series
    # Seeds 0 and 2: deviation sqrt(2), t(0.975, 1) = 12.7062, half width 12.7062.
    assert line.y == (11.0, 21.0)
    assert [round(half, 3) for half in line.spread] == [12.706, 12.706]
    assert "11 +- 13" in text_of(sweep)
    assert "Student's t" in text_of(sweep)
    assert "failed: cluster.nodes = 1, seed = 1: seed 1: has no answer" in text_of(sweep)


def test_a_long_sweep_is_cut_in_text_but_not_on_the_page() -> None:
    sweep = found({"cluster.nodes": list(range(1, MAX_ROWS + 11))})
    assert "and 10 rows more" in text_of(sweep)
    results = sweep_page(sweep).rpartition("<tbody>")[2]
    assert results.count("<tr>") == MAX_ROWS + 10


def test_a_page_of_thousands_of_points_stays_small_and_says_what_it_leaves_out() -> None:
    count = MAX_PAGE_ROWS + 2000
    page = sweep_page(found({"cluster.nodes": list(range(1, count + 1))}))
    assert len(page) < 700_000
    assert page.rpartition("<tbody>")[2].count("<tr>") == MAX_PAGE_ROWS
    assert "and 2,000 rows more; --out and --json have them all" in page


def test_the_page_escapes_what_users_wrote() -> None:
    page = sweep_page(found({"name": ["<script>alert(1)</script>", "b"]}))
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_sweep_in_which_all_failed_still_has_its_page() -> None:
    sweep = found({"cluster.nodes": [1]}, options={"refuse": [0]})
    assert "seed 0: has no answer" in sweep_page(sweep)
    assert "1 failed" in text_of(sweep)


def test_what_is_outside_the_checked_range_is_marked() -> None:
    sweep = found({"cluster.nodes": [1, 2], "seed": {"from": 0, "count": 2}})
    answers = list(sweep.answers)
    outside = {**(answers[3].result or {}), "validity": {"inside": False}}
    answers = [
        replace(answer, result={**(answer.result or {}), "validity": {"inside": True}})
        for answer in answers[:3]
    ] + [replace(answers[3], result=outside)]
    doubtful = replace(sweep, answers=tuple(answers))
    # One of the two seeds at 2 nodes: 20 and 21, half width 12.7062 x 0.7071 / 1.4142 = 6.4.
    assert "20.5 +- 6.4 *" in text_of(doubtful)
    assert "10.5 +- 6.4\n" in text_of(doubtful)
    assert "* and open marks: outside the range" in sweep_page(doubtful)
    (line,) = plot_of(doubtful).series
    assert line.hollow == (False, True)
    assert "outside the range" not in text_of(sweep)
