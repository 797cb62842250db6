"""``netloom validate layers`` on rows of mixture and diffusion blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

MOE = (
    "part,impl,mode,model,hidden,ffn,experts,local_experts,top_k,tokens,rows,load,tp,seq,"
    "fwd_ms,fwd_bwd_ms,status"
)
DIT = "kind,mode,hidden,heads,ffn,text_tokens,micro_batch,tokens,fwd_ms,fwd_bwd_recompute_ms,status"


def per_row(table: Path, text: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    table.write_text(text)
    main(["validate", "layers", "--data", str(table), "--rows", "--json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["result"]["per_row"]
    return found


def test_a_row_with_two_times_gives_two_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "experts,grouped_mm,eager,mine,4096,1024,64,8,4,,32768,balanced,1,,1.5,4.5,ok"
    found = per_row(tmp_path / "own.csv", f"{MOE}\n{row}\n", capsys)
    assert [(one["row_id"], one["quantity"]) for one in found] == [
        ("1", "fwd_ms"),
        ("1", "fwd_bwd_ms"),
    ]
    assert all(one["inside"] for one in found)
    assert found[1]["predicted"] > 2.5 * found[0]["predicted"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("experts,magic,eager,mine,4096,1024,64,8,4,,32768,,1,,1.5,,ok", "'magic'"),
        ("experts,grouped_mm,eager,mine,4096,1024,64,,4,,32768,,1,,1.5,,ok", "local_experts"),
        ("router,softmax,eager,mine,4096,1024,64,,4,,,,1,,1.5,,ok", "neither tokens nor rows"),
        ("attention_block,gqa,eager,mine,4096,1024,64,,4,4096,,,1,4096,1.5,,ok", "'mine'"),
        ("attention_block,mla,eager,mixtral-8x7b,4096,1,8,,2,4096,,,1,4096,1.5,,ok", "latent"),
        (
            "attention_kernel,efficient_attention,eager,deepseek-v3,7168,1,8,,2,4096,,,1,4096,1,,",
            "cuDNN's is modelled",
        ),
    ],
)
def test_a_row_that_cannot_be_run_says_why(
    row: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = per_row(tmp_path / "own.csv", f"{MOE}\n{row}\n", capsys)
    assert found["predicted"] is None
    assert found["error_pct"] is None
    assert not found["inside"]
    assert reason in found["reason"]


def test_rows_bound_by_the_host_are_reported_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "experts,grouped_mm,eager,mine,4096,1024,64,8,4,,32768,,1,,1.5,4.5,host_bound_fwd"
    forward, both = per_row(tmp_path / "own.csv", f"{MOE}\n{row}\n", capsys)
    assert "pace of the host" in forward["reason"]
    assert both["inside"]


def test_a_diffusion_row_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "mmdit,eager,1536,24,6144,333,8,1024,1.9585,7.7732,ok\nodd,eager,64,1,1,0,1,1,1,1,ok"
    found = per_row(tmp_path / "own.csv", f"{DIT}\n{rows}\n", capsys)
    assert [one["quantity"] for one in found[:2]] == ["fwd_ms", "fwd_bwd_recompute_ms"]
    assert all(abs(one["error_pct"]) < 8 for one in found[:2])
    assert found[2]["predicted"] is None
    assert "'odd'" in found[2]["reason"]


def test_a_mode_that_no_block_has_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "own.csv"
    table.write_text(f"{MOE}\nexperts,grouped_mm,lazy,mine,1,1,1,1,1,,1,,1,,1,,ok\n")
    assert main(["validate", "layers", "--data", str(table)]) == 2
    assert "write eager or compiled or graph" in capsys.readouterr().err
