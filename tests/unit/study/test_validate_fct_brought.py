"""Single completion times that a user brings: what is taken, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.cli.about.validate import validate
from netloom.errors import SpecError
from netloom.validation.fct.cases import shipped_cases
from netloom.validation.fct.user_rows import CASE_COLUMNS, read_fct

if TYPE_CHECKING:
    from pathlib import Path

HEADER = ",".join(CASE_COLUMNS) + "\n"


def test_shipped_numbers_read_as_brought_ones_are_the_same_runs(tmp_path: Path) -> None:
    shipped = [
        case
        for case in shipped_cases()
        if case.pattern in {"permutation", "incast"} and case.fabric.startswith(("uec-1", "ndp"))
    ]
    columns = (*CASE_COLUMNS, "num_paths", "compare", "tolerance_pct")
    lines = [",".join(str(getattr(case, name)) for name in columns) for case in shipped]
    file = tmp_path / "mine.csv"
    file.write_text("\n".join([",".join(columns), *lines]))
    points, cases = read_fct(file)
    assert points == ()
    assert len(cases) > 40
    for case, known in zip(cases, shipped, strict=True):
        assert [getattr(case, name) for name in columns] == [
            getattr(known, name) for name in columns
        ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,uec-99,rccc,incast,7,1000,5,us", "fabric: 'uec-99' is not known; did you mean"),
        ("a,uec-16,rccd,incast,7,1000,5,us", "scheme: 'rccd' is not known; choose ndp, roce"),
        ("a,uec-16,rccc-rops,incast,7,1000,5,us", "scheme: 'rccc-rops' is not known"),
        ("a,irn-54,rccc,incast,7,1000,5,us", "scheme: 'rccc' is Ultra Ethernet's, whose queues"),
        ("a,uec-16,rccc,incast,16,1000,5,us", "num_flows: '16' is not a number from 1 to 15"),
        ("a,uec-16,rccc,permutation,8,1000,5,us", "num_flows: '8' is not 16; correct it"),
        ("a,uec-16,rccc,ring,16,1000,5,us", "pattern: 'ring' is not known; choose one of perm"),
        ("a,uec-16,rccc,incast,7,1MB,5,us", "size_bytes: '1MB' is not a number"),
        ("a,uec-16,rccc,incast,7,1000,,us", "published: '' is not a number"),
        ("a,uec-16,rccc,incast,7,1000,5,ms", "unit: 'ms' is not known; choose one of us"),
        ("a,uec-16,rccc,incast,7", "size_bytes: '' is not a number"),
    ],
)
def test_a_wrong_number_is_refused_with_its_line(tmp_path: Path, row: str, says: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEADER + row + "\n")
    with pytest.raises(SpecError) as error:
        read_fct(file)
    assert str(error.value).startswith(f"mine.csv:2: {says}")


def test_missing_columns_and_paths_that_are_no_power_of_two_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("case,fabric,scheme\na,uec-16,rccc\n")
    with pytest.raises(SpecError, match="has no column 'pattern'; the columns are case, fabric"):
        read_fct(file)
    file.write_text(HEADER)
    with pytest.raises(SpecError, match="has no rows"):
        read_fct(file)
    row = "a,uec-16,rccc,incast,7,1000,5,us,100\n"
    file.write_text(HEADER.strip() + ",num_paths\n" + row)
    with pytest.raises(SpecError, match="num_paths: 100 is no power of two"):
        read_fct(file)


def test_an_incast_of_another_degree_is_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 7 x 245 packets of 4,150 bytes at 100 Gb/s, 569.4 us, and a round trip over six links of 1 us.
    file = tmp_path / "mine.csv"
    row = "seven,uec-16,rccc,incast,7,1000000,581.4,us"
    file.write_text(HEADER + row + "\n")
    assert validate("fct", data=file, rows=True) == 0
    found = capsys.readouterr()
    assert "seven, us" in found.out
    assert "1 numbers, medians of 3 or 9 draws" in found.err
