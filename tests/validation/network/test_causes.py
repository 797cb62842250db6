"""How often the cause of a slow collective is named, and how often a sound cluster is blamed.

The counts are ratchets: what is reached today, not what was asked for. The truth is what a log's
own source says (:mod:`netloom.validation.collectives.causes`).
"""

from __future__ import annotations

import math

import pytest

from netloom.parts.load import load_catalog
from netloom.study.expect.spread import factor_of, spread_of
from netloom.validated.collectives import CollectivePoint, collective_groups
from netloom.validation.collectives.causes import (
    OTHER,
    blamed,
    listed_right,
    named_right,
    untuned_logs,
    wrong_logs,
)
from netloom.validation.collectives.suite import validate_collectives
from netloom.validation.collectives.tables import shipped_rows

CATALOG = load_catalog()


def test_of_logs_that_ran_over_sockets_13_of_15_are_named() -> None:
    logs = untuned_logs(CATALOG)
    known = [one for one in logs if one.truth != OTHER]
    assert {one.truth for one in known} == {"sockets"}
    assert (len(known), len(logs)) == (15, 21)
    assert named_right(known) >= 13
    wrong = [one for one in known if one.named and not one.is_right]
    assert [(one.collective, one.num_nodes) for one in wrong] in ([], [("all_to_all", 2)])
    # Of six with a cause that netloom does not know, one is given another.
    assert sum(bool(one.named) for one in logs if one.truth == OTHER) <= 1


def test_by_their_rate_alone_10_of_15_are_named_and_5_given_another_cause() -> None:
    """The start-up of sockets was taken from these logs; an all-to-all's rate does not tell."""
    logs = [one for one in untuned_logs(CATALOG, min_bytes=2.0**20) if one.truth != OTHER]
    assert len(logs) == 15
    assert named_right(logs) >= 10
    wrong = [one for one in logs if one.named and not one.is_right]
    assert len(wrong) <= 5
    assert {one.collective for one in wrong} <= {"all_to_all"}


def test_of_single_values_posted_with_their_cause_1_of_5_is_named_and_3_are_listed() -> None:
    logs = [one for one in wrong_logs(CATALOG) if one.truth != OTHER]
    assert len(logs) == 5
    assert named_right(logs) >= 1
    assert listed_right(logs) >= 3
    assert sum(bool(one.named) and not one.is_right for one in logs) <= 1


@pytest.mark.parametrize(("left_out", "outside"), [(False, 1), (True, 2)])
def test_no_cluster_is_blamed_inside_what_was_validated_and_few_outside(
    left_out: bool,  # noqa: FBT001
    outside: int,
) -> None:
    logs = blamed(CATALOG, left_out=left_out)
    hit = [one for one in logs if one.verdict != "as expected"]
    assert (sum(one.inside for one in logs), len(logs)) == (32, 87)
    assert sum(one.inside for one in hit) == 0
    assert len(hit) <= outside


@pytest.mark.parametrize(("left_out", "least"), [(False, 0.90), (True, 0.86)])
def test_an_interval_of_90_percent_holds_about_so_much(left_out: bool, least: float) -> None:  # noqa: FBT001
    """Of rows that are inside; with *left_out* it does not know the row's own machine."""
    inside = held = 0
    for row in validate_collectives(shipped_rows(), CATALOG).per_row:
        if not (row.judged and row.inside and not row.fitted and row.predicted_gbps):
            continue
        if row.table.startswith("allreduce"):  # 896 rows of two machines would decide
            continue
        node = CATALOG.nodes[row.node]
        family = CATALOG.technologies[row.technology].family if row.num_nodes > 1 else ""
        point = CollectivePoint(
            collective=row.collective,
            node=row.node,
            scale_up=node.scale_up,
            family=family,
            num_nodes=row.num_nodes,
            size_bytes=row.size_bytes or 0.0,
        )
        groups = [one for one in collective_groups() if not left_out or one.machine != row.machine]
        inside += 1
        off = abs(math.log(row.measured_gbps / row.predicted_gbps))
        held += off <= math.log(factor_of(spread_of(point, groups)))
    assert inside == 489
    assert held / inside >= least
