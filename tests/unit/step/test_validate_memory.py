"""``netloom validate memory``: what it reads, what it refuses, what it prints."""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import netloom as nl
from netloom.cli.main import main
from netloom.errors import NetloomError, SpecError
from netloom.parts.load import load_catalog
from netloom.validation.memory.measured import read_memory_rows
from netloom.validation.memory.suite import MemorySuite, validate_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = (
    "model,hidden,heads,kv_heads,head_dim,ffn,layers,vocab,experts,top_k,micro_batch,seq,"
    "precision,recompute,mode,static_bytes,forward_end_bytes,peak_allocated_bytes"
)
ROW = "own,4096,32,8,128,14336,16,32000,0,0,1,4096,bf16,none,eager,3e10,4.2e10,4.3e10"


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str, columns: str = COLUMNS) -> Path:
        path = tmp_path / "own.csv"
        path.write_text("\n".join((columns, *lines)) + "\n", encoding="utf-8")
        return path

    return write


def test_a_row_gives_an_entry_for_each_size(
    file_of: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "memory", "--data", str(file_of(ROW)), "--rows", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    entries = {entry["quantity"]: entry for entry in found["per_row"]}
    assert list(entries) == ["static_bytes", "forward_end_bytes", "peak_allocated_bytes"]
    # 3,751,940,096 parameters, eight bytes each: weights, gradients and two states of 16 bits.
    assert entries["static_bytes"]["predicted"] == 8 * 3_751_940_096
    for entry in entries.values():
        assert entry["row_id"] == "1"
        assert entry["inside"]
        assert entry["reason"] == ""
        share = entry["predicted"] / entry["measured"] - 1
        assert entry["error_pct"] == pytest.approx(100 * share)


def test_a_step_that_cannot_be_run_says_why(file_of: Callable[..., Path]) -> None:
    path = file_of(ROW.replace("bf16", "int4"))
    found = validate_memory(read_memory_rows(path), load_catalog())
    assert [row.error_pct for row in found.per_row] == [None] * 3
    assert "int4" in found.per_row[0].reason
    assert not found.bound_ok


def test_a_step_far_from_its_prediction_fails_the_suite(file_of: Callable[..., Path]) -> None:
    path = file_of(ROW.replace("4.3e10", "9e10").replace("4.2e10", "8e10"))
    assert main(["validate", "memory", "--data", str(path)]) == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW.replace("4096,32,8", "wide,32,8"), "hidden"),
        (ROW.replace("3e10", "-3"), "static_bytes"),
        (ROW.replace("32,8,128", "32,7,128"), "kv_heads"),
        (ROW.replace("3e10,4.2e10,4.3e10", "much,,"), "static_bytes"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    file_of: Callable[..., Path], row: str, said: str
) -> None:
    with pytest.raises(SpecError, match=f"own.csv:2: {said}"):
        read_memory_rows(file_of(row))


def test_columns_of_another_table_are_refused_with_those_wanted(
    file_of: Callable[..., Path],
) -> None:
    with pytest.raises(SpecError, match="peak_memory_gb"):
        read_memory_rows(file_of("1,2", columns="a,b"))


def test_steps_without_a_peak_are_no_rows(file_of: Callable[..., Path]) -> None:
    columns = "row_id,model,gpu,n_gpus,seq_len,global_batch,step_time_s,peak_memory_gb"
    with pytest.raises(SpecError, match="no row with a measured memory"):
        read_memory_rows(file_of("a,Llama 3 8B,H100,8,8192,128,9,", columns=columns))


def test_mlperf_logs_gib_of_the_first_stage_and_others_gb() -> None:
    suite = nl.validate("memory").suites["memory"]
    assert isinstance(suite, MemorySuite)
    found = {row.row_id: row for row in suite.per_row}
    for row_id, unit in (("mlperf-0040", 2**30), ("bridge_ab-0005", 1e9)):
        (peak,) = {
            row["peak_memory_gb"]
            for name in ("training_steps_large.csv", "training_steps_moe.csv")
            for row in csv.DictReader(io.StringIO(_steps_data(name)))
            if row["row_id"] == row_id
        }
        assert found[row_id].measured == float(peak) * unit


def _steps_data(name: str) -> str:
    return resources.files("netloom.validation.steps").joinpath("data", name).read_text("utf-8")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200), cut=st.integers(0, 200))
def test_any_file_is_read_or_refused_and_nothing_else(tmp_path: Path, text: str, cut: int) -> None:
    path = tmp_path / "any.csv"
    path.write_text(f"{COLUMNS}\n{ROW[:cut]}{text}\n", encoding="utf-8")
    with suppress(NetloomError):
        validate_memory(read_memory_rows(path), load_catalog())
