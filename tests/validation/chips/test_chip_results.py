"""Chip mechanisms against published results: signs always, sizes within the stated bands."""

from __future__ import annotations

import pytest

from netloom.parts.load import load_catalog
from netloom.validation.chips.closed import closed_chip_rows
from netloom.validation.chips.row import in_band, not_checked
from netloom.validation.chips.suite import LEAST_COUNTED, ChipSuite, chip_suite_of, validate_chips


@pytest.fixture(scope="module")
def suite() -> ChipSuite:
    return validate_chips(load_catalog())


def test_at_least_twenty_published_rows_count(suite: ChipSuite) -> None:
    assert suite.inside >= LEAST_COUNTED
    assert suite.met >= 29  # held at what is achieved


def test_every_sign_is_the_published_one(suite: ChipSuite) -> None:
    assert suite.direction_met == suite.directions >= 14


def test_one_size_is_a_known_gap_and_says_why(suite: ChipSuite) -> None:
    gaps = [row for row in suite.per_row if row.counted and not row.ok]
    assert [row.row_id for row in gaps] == ["rail-only-saving"]
    assert all(row.gap for row in gaps)
    assert suite.bound_ok


@pytest.mark.parametrize("tag", ["R", "F"])
def test_what_is_recalled_or_fitted_does_not_count(suite: ChipSuite, tag: str) -> None:
    rows = [row for row in suite.per_row if row.tag.startswith(tag)]
    assert rows
    assert not any(row.counted for row in rows)


def test_every_row_names_its_source(suite: ChipSuite) -> None:
    assert all(row.source for row in suite.per_row)
    assert len({row.row_id for row in suite.per_row}) == len(suite.per_row)


def test_formulas_alone_meet_their_rows() -> None:
    rows = [row for row in closed_chip_rows(load_catalog()) if not row.gap]
    assert all(row.ok for row in rows), [row.row_id for row in rows if not row.ok]


def test_a_wrong_sign_is_not_met_whatever_the_size() -> None:
    row = in_band("x", "", 1.1, (0.5, 2.0), 0.9, tag="S", source="here", direction=1.0)
    assert row.direction_ok is False
    assert row.ok is False
    assert not chip_suite_of([row]).bound_ok


def test_a_row_that_was_not_run_is_neither_met_nor_counted() -> None:
    row = not_checked("x", "", tag="S", source="here", reason="none")
    assert (row.ok, row.counted, row.error_pct) == (None, False, None)
