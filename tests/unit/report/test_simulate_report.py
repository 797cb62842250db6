"""What reports make of a simulation: classes of sizes, and the tree of pauses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from netloom.engines.delivery import Delivery
from netloom.report.charts import PERCENT
from netloom.report.simulate.figures import MAX_CURVES, fct_cdf, over_time, paused_links
from netloom.report.simulate.page import simulation_page
from netloom.report.simulate.pauses import pause_tree
from netloom.study.simulate.simulation import Grid, SeedRun, Simulation
from netloom.workload.dag import Dag, Label, to_transfers

if TYPE_CHECKING:
    from collections.abc import Sequence


def _simulation(
    size_bytes: list[int],
    pauses: Sequence[tuple[int, int, int]] = (),
    *,
    priorities: Sequence[int] = (),
) -> Simulation:
    """Return a chain host 0 - switch 2 - switch 3 - host 1 that was used for flows of *sizes*."""
    count = len(size_bytes)
    dag = Dag.of(
        np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64), np.array(size_bytes)
    )
    transfers = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    link, begin, end = np.array(pauses, dtype=np.int64).reshape(-1, 3).T
    delivery = Delivery(
        engine="packet",
        start_ps=np.zeros(count, dtype=np.int64),
        finish_ps=np.arange(1, count + 1, dtype=np.int64) * 1000,
        simulated_ps=10**6,
        link_bytes=np.full(6, 100, dtype=np.int64),
        counters={"events": 7},
        tables={
            "pauses": {
                "link": link,
                "begin_ps": begin,
                "end_ps": end,
                "priority": np.array(priorities or [3] * len(pauses), dtype=np.uint8),
            }
        }
        if pauses
        else {},
    )
    ends = np.array([(0, 2), (2, 0), (2, 3), (3, 2), (3, 1), (1, 3)], dtype=np.int32)
    return Simulation(
        title="t",
        engine="packet",
        technology="x",
        choices={},
        grid=Grid(
            name=("host:0", "host:1", "leaf:2", "leaf:3"),
            link_source=ends[:, 0],
            link_target=ends[:, 1],
            link_rate_bps=np.full(6, 1e9),
        ),
        runs=(
            SeedRun(
                seed=0,
                transfers=transfers,
                delivery=delivery,
                ideal_ps=np.full(count, 1000),
                wall_s=0.0,
            ),
        ),
        jobs=("all",),
    )


def test_a_pause_stands_under_the_one_that_made_it() -> None:
    # leaf:3 pauses leaf:2 (link 2) first; leaf:2 then fills up and pauses host:0 (link 0) twice.
    found = _simulation([10], [(2, 100, 500), (0, 200, 300), (0, 400, -1)])
    assert pause_tree(found) == [
        (0, "leaf:2->leaf:3", 1, "400ps", 1),
        # 100 ps, and from 400 ps to the end of the run after 1 us.
        (1, "host:0->leaf:2", 1, "1us", 2),
    ]
    assert "Who paused whom" in simulation_page(found)


def test_a_pause_that_was_long_over_explains_no_other() -> None:
    # leaf:2 is let go at 500 ps. Within as long again it may still be full; at 5,000 ps it is not,
    # and what it pauses then is congestion of its own.
    soon, late = (
        pause_tree(_simulation([10], [(2, 100, 500), (0, begin, begin + 100)]))
        for begin in (850, 5000)
    )
    assert [depth for depth, *_ in soon] == [0, 1]
    assert [depth for depth, *_ in late] == [0, 0]


def test_a_pause_explains_none_of_another_priority() -> None:
    pauses = [(2, 100, 500), (0, 200, 300)]
    assert [row[0] for row in pause_tree(_simulation([10], pauses, priorities=[3, 3]))] == [0, 1]
    assert [row[0] for row in pause_tree(_simulation([10], pauses, priorities=[3, 1]))] == [0, 0]


def test_without_pauses_there_is_no_tree() -> None:
    assert pause_tree(_simulation([10])) == []
    assert "Who paused whom" not in simulation_page(_simulation([10]))


def test_few_sizes_are_classes_of_their_own() -> None:
    rows = _simulation([10, 10, 500]).by_size()
    assert [(row["up_to_bytes"], row["flows"]) for row in rows] == [(10, 2), (500, 1)]
    # Ends at 1, 2 and 3 ns, each alone 1 ns.
    assert [row["mean"] for row in rows] == [1.5, 3.0]


@pytest.mark.parametrize("common", [0, 60])
def test_many_sizes_fall_into_ten_classes_and_equal_sizes_into_one(common: int) -> None:
    rows = _simulation([7] * common + list(range(100, 140))).by_size()
    assert sum(row["flows"] for row in rows) == common + 40
    assert len(rows) <= 10
    tops = [row["up_to_bytes"] for row in rows]
    assert tops == sorted(set(tops))
    assert tops[-1] == 139


def test_parallel_links_are_told_apart() -> None:
    grid = Grid(
        name=("a:0", "b:0"),
        link_source=np.array([0, 1, 0, 1], dtype=np.int32),
        link_target=np.array([1, 0, 1, 0], dtype=np.int32),
        link_rate_bps=np.ones(4),
    )
    assert [grid.link(number) for number in range(4)] == [
        "a:0->b:0",
        "b:0->a:0",
        "a:0->b:0 #2",
        "b:0->a:0 #2",
    ]


def test_of_several_seeds_the_page_tells_mean_and_interval() -> None:
    # Spans of 1 and 3 ns: mean 2, and Student's quantile 12.706 times the deviation 1.414 over the
    # root of 2 to either side.
    one, other = _simulation([10]), _simulation([10, 10, 10])
    page = simulation_page(replace(one, runs=(one.first, other.first)))
    assert "Over 2 seeds" in page
    assert '<th scope="row">span</th><td>2ns</td><td>-10.71ns</td><td>14.71ns</td>' in page
    assert "Over " not in simulation_page(one)


def test_traffic_of_which_nothing_ended_has_no_slowdown() -> None:
    found = _simulation([10])
    page = simulation_page(replace(found, jobs=("all", "none")))
    row = page.split('<th scope="row">none</th>')[1].split("</tr>")[0]
    assert row == "<td>0</td><td>0</td>" + 5 * "<td>-</td>"


def test_of_many_links_that_were_full_those_are_drawn_that_stayed_so() -> None:
    # Links 0 to 3 are full once, links 4 and 5 twice.
    table = {
        "link": np.array([0, 1, 2, 3, 4, 5, 4, 5]),
        "from_ps": np.array([0] * 6 + [10] * 2),
        "utilisation": np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    }
    plot = over_time(_simulation([10]), table, value="utilisation", axis="used", unit=PERCENT)
    assert [line.name for line in plot.series[:2]] == ["leaf:3->host:1", "host:1->leaf:3"]


def test_transfers_that_a_stopped_run_left_unfinished_count_in_the_share_that_ended() -> None:
    # Of five that were asked for, one had not started, and two of the other four had ended.
    found = _simulation([10] * 5)
    delivery = replace(
        found.first.delivery,
        start_ps=np.array([0, 0, 0, 0, -1]),
        finish_ps=np.array([1000, 2000, -1, -1, -1]),
        partial=True,
    )
    stopped = replace(found, runs=(replace(found.first, delivery=delivery),))
    (line,) = fct_cdf(stopped).series
    assert line.y == (0.0, 25.0, 50.0)


def test_a_link_that_is_paused_in_two_priorities_is_one_link() -> None:
    # Link 2 is paused from 100 to 500 ps in one priority and from 200 to 700 in another.
    found = _simulation([10], [(2, 100, 500), (2, 200, 700)], priorities=[3, 1])
    (line,) = paused_links(found, found.first.delivery.tables["pauses"]).series
    assert line.y == (0.0, 1.0, 0.0)
    assert list(line.x) == pytest.approx([0, 100e-12, 700e-12])


def test_pieces_of_traffic_beyond_the_colours_share_a_line() -> None:
    found = _simulation([10] * 40)
    transfers = replace(found.first.transfers, job=np.arange(40, dtype=np.int32))
    many = replace(
        found,
        jobs=tuple(f"piece {number}" for number in range(40)),
        runs=(replace(found.first, transfers=transfers),),
    )
    lines = fct_cdf(many).series
    others = 40 - (MAX_CURVES - 1)
    assert [line.name for line in lines[-2:]] == [f"piece {39 - others}", f"{others} others"]
    assert len(lines[-1].y) == others + 1
