"""Whatever table `netloom validate --data` is fed: a verdict or a sentence, never a traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {
    "collective": "all_reduce",
    "gpu": "H100",
    "nodes": "2",
    "ranks": "16",
    "scaleup": "NVLink4",
    "scaleout": "8x400G NDR",
    "algo": "",
    "size_bytes": "1073741824",
    "time_us": "5000",
    "busbw_GBps": "400",
    "source": "lab",
    "notes": "",
}
WRONG = [
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e-320",
    "1e308",
    "1.5",
    "many",
    "8 ",
    "0x10",
    "9" * 5000,
    "\x1b[31mred",
    "x" * 131_073,
    "A100-PCIE",
    "8x",
    "99999999x99G",
    '"',
    "anomaly below 99999999999999999999 MiB",
    f"anomaly below {'9' * 5000} MiB",
    "\u0661\u0662",
]
CASES = [(key, wrong) for key in GOOD for wrong in WRONG]
SHAPES = [
    b"",
    b"\n\n\n",
    b"\xff\xfe",
    b"\x00" * 100,
    b"collective",
    b"collective,ranks\n",
    b"collective,ranks\nall_reduce,8\n",
    b"ranks,ranks\n8,8\n",
    b'collective,ranks\n"all_reduce,8\n',
    b"collective\tranks\nall_reduce\t8\n",
    b"a,b\r1,2\r3",
    (",".join(GOOD) + "\n" + ",".join(GOOD.values()) + ",more,and more\n").encode(),
    (",".join(GOOD) + "\nall_reduce\n").encode(),
    (",".join(GOOD) + "\n" + "," * 100_000).encode(),
]


def written(*rows: dict[str, str]) -> bytes:
    lines = [",".join(GOOD), *(",".join(row.values()) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def check(path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(content)
    code = main(["validate", "collectives", "--data", str(path), "--json", "--rows"])
    out, err = capsys.readouterr()
    if code == 2:
        assert err.startswith(f"netloom: {path}") or f"{path.name}: " in err
        assert "\x1b" not in err
        assert len(err) < 600
        return
    assert code in {0, 1}, err
    found = json.loads(out, parse_constant=pytest.fail)["result"]  # no NaN, no Infinity
    assert bool(found["counted"]) or code == 1
    assert all(row["reason"] for row in found["per_row"] if row["predicted"] is None)


def test_there_are_two_hundred_of_them() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize("key", list(GOOD))
def test_a_wrong_cell_is_refused_or_its_row_reported_apart(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case_key, wrong in CASES:
        if case_key == key:
            check(tmp_path / "t.csv", written(GOOD | {key: wrong}), capsys)


@pytest.mark.parametrize("content", SHAPES)
def test_what_is_no_table_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path / "t.csv", content, capsys)


CELLS = st.one_of(
    st.sampled_from(WRONG),
    st.sampled_from(list(GOOD.values())),
    st.integers(-3, 10**7).map(str),
    st.floats().map(str),
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=12),
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(
        st.dictionaries(st.sampled_from(list(GOOD)), CELLS, max_size=3), min_size=1, max_size=3
    )
)
def test_no_table_is_a_bug(
    changes: list[dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path / "t.csv", written(*(GOOD | change for change in changes)), capsys)
