"""The packet engine against published completion times, a part of ``netloom validate fct``.

Slowdown curves: the HPCC authors' project page (hpcc-group.github.io, results.md), digitised to
2 to 3 %. Single numbers: data/fct_cases.csv of netloom.study, each with its source. The suite runs
for minutes; here are the small cases, and marked slow one curve with an own queue and one without.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from netloom.validation.fct.cases import FctCase, run_case, shipped_cases
from netloom.validation.fct.hpcc import TreeCase, run_tree
from netloom.validation.fct.rows import CurveKey, case_row, curve_rows, curves_of
from netloom.validation.fct.suite import shipped_points, validate_fct

pytestmark = pytest.mark.validation

CASES = shipped_cases()
# 4 s to a minute each
LONG = {
    "uec-8192": "permutation",
    "uec-8192-4to1": "permutation",
    "irn-54": "heavy-tailed",
}
# Permutations of 1,024 hosts that uet-htsim logged, 2 to 8 s each: one of a kind is enough here
LOGGED = ("uec-spray-nscc-", "uec-spray-rccc-", "uec-failed-8-", "uec-failed-1-1024", "uec-again-")
KEPT = {"uec-again-taper-4", "uec-again-taper-8", "uec-failed-8-rccc-oblivious"}
QUICK = [
    case
    for case in CASES
    if LONG.get(case.fabric) != case.pattern
    and (case.pattern != "permutation" or case.case in KEPT or not case.case.startswith(LOGGED))
    and not (case.scheme == "both" and case.pattern == "permutation")
]
# IRN's with a sixth of the flows: its claim holds from there on.
SLOW = [
    replace(case, num_flows=min(case.num_flows, 8192))
    for case in CASES
    if case.case in {"uec-permutation-nscc-128", "irn-without-pfc"}
]


def check(case: FctCase) -> None:
    row = case_row(case, run_case(case, seed=1))
    assert row.error_pct is not None
    assert abs(row.error_pct) <= case.bound_pct, row


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.case)
def test_a_published_number_is_met(case: FctCase) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.case)
def test_a_published_number_that_takes_longer_is_met(case: FctCase) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", ["HPCC-INT", pytest.param("DCTCP", marks=pytest.mark.long)])
def test_half_of_the_flows_finish_as_soon_as_published(scheme: str) -> None:
    # A third of the suite's simulated time; tenths with fewer than 50 flows are not inside.
    published = curves_of(shipped_points())
    case = TreeCase(workload="wb", load_pct=30, scheme=scheme, stop_ps=3_500_000_000)
    run = run_tree(case, seed=1)
    key = CurveKey(workload="wb", load_pct=30, fct_percentile=50, scheme=scheme)
    errors = [row.error_pct for row in curve_rows(key, published[key], run) if row.inside]
    assert len(errors) >= 7
    assert max(abs(error or 0.0) for error in errors) <= 12


def test_nothing_to_judge_is_no_success() -> None:
    assert not validate_fct(()).bound_ok
