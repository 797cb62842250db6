"""Intervals hold nine in ten measured steps that they were taken without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from netloom.validated.intervals import SHARE, ErrorRows, Widths
from netloom.validated.steps import judged_rows
from netloom.validation.steps import coverage
from netloom.validation.steps.coverage import interval_coverage, interval_widths
from netloom.validation.steps.suite import INTERVAL_SHARES

pytestmark = pytest.mark.validation


def test_nine_in_ten_rows_of_sources_left_out_are_held() -> None:
    low, high = INTERVAL_SHARES
    found = interval_coverage()
    assert found.rows == len(judged_rows()) >= 1000
    assert low <= found.share <= high
    assert sum(one.held for one in found.by_source) == round(found.share * found.rows)


def test_nine_in_ten_rows_left_out_alone_are_held() -> None:
    low, high = INTERVAL_SHARES
    assert low <= interval_coverage().row_share <= high


def test_without_widths_too_few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    # The rows nearest in other sources say too little of a source: their range needs widening.
    monkeypatch.setattr(coverage, "_widths", lambda distance, _: Widths((distance.max(),), (0.0,)))
    assert interval_coverage().share < INTERVAL_SHARES[0]


def test_a_source_whose_steps_are_all_slower_is_not_held_by_the_others() -> None:
    # 100 rows that measured 2.7 times what was predicted: their source left out, none is held.
    first = judged_rows()[-1]
    odd = [replace(first, row_id=f"odd-{n}", source="odd", error_pct=-63.0) for n in range(100)]
    found = interval_coverage([*judged_rows(), *odd])
    assert next(one.held for one in found.by_source if one.source == "odd") == 0


def test_widths_grow_with_the_distance() -> None:
    for widths in interval_widths().values():
        assert list(widths.widen) == sorted(widths.widen)
        assert list(widths.up_to) == sorted(widths.up_to)
        assert widths.at(widths.up_to[-1] + 1) is None
        assert widths.at(0.0) == widths.widen[0]


def test_a_row_is_at_no_distance_from_itself_and_others_are_as_far_either_way() -> None:
    rows = ErrorRows.of(judged_rows()[:200])
    distances = rows.distances(rows.axes, rows.exposed_share)
    assert np.all(np.diag(distances) == 0)
    assert np.allclose(distances, distances.T)


def test_the_share_that_is_meant_lies_in_the_middle_of_what_is_asked() -> None:
    assert sum(INTERVAL_SHARES) / 2 == pytest.approx(SHARE)


def test_of_rows_as_far_the_first_make_the_range() -> None:
    """Which they were depended on the processor: numpy's partition leaves ties in any order."""
    rows = ErrorRows.of(judged_rows()[:200])
    level = np.full((1, 200), 0.5) + np.where(np.arange(200) % 2, 1e-14, 0.0)
    none = np.zeros(1)
    found = rows.errors(level, faster=none, slower=none)
    first = ErrorRows.of(judged_rows()[:30]).errors(level[:, :30], faster=none, slower=none)
    assert (found.low[0], found.high[0], found.nearest[0]) == (first.low[0], first.high[0], 0)
