"""Tables of measured operators: what is read, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.compute.tables import COLUMNS, parse_table, read_table, shipped_table
from netloom.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = ",".join(COLUMNS)


@pytest.mark.parametrize(("name", "rows"), [("h200", 1122), ("a100", 183), ("b200", 514)])
def test_every_shipped_row_has_a_source(name: str, rows: int) -> None:
    table = shipped_table(name)
    assert len(table) == rows
    assert all(row.source for row in table)


def test_a_row_keeps_its_shape_and_time() -> None:
    (row,) = parse_table([HEAD, "gemm_tn,bf16,1024x6144x2048,41.95,somebody"], where="x")
    assert row.shape == (1024, 6144, 2048)
    assert row.time_s == pytest.approx(41.95e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gemm_tn,bf16,1024x6144,41.95,me", r"x:2: shape: '1024x6144' has not 3 sizes"),
        ("gelu,bf16,1024x0,41.95,me", "has not 2 sizes of 1 and more"),
        ("gelu,bf16,1024xwide,41.95,me", "x:2: invalid literal"),
        ("gelu,bf16,1024x1024,nan,me", "x:2: time_us: 'nan' is not a positive number"),
        ("gelu,bf16,1024x1024,,me", "x:2: could not convert"),
    ],
)
def test_a_wrong_row_is_named(line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_table([HEAD, line], where="x")


def test_a_table_without_a_column_is_refused() -> None:
    with pytest.raises(SpecError, match="no column 'time_us'"):
        parse_table(["operator,precision,shape,source"], where="x")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        read_table(tmp_path / "none.csv")
