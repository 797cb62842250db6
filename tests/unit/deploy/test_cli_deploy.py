"""``netloom deploy`` as a user types it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from deployments import SCENARIO

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def scenario(
    folder: Path,
    technology: str,
    tenants: str = "[]",
    *,
    topology: str = "{kind: rail-fat-tree}",
) -> str:
    path = folder / "cluster.yaml"
    text = SCENARIO.format(
        nodes=16 if "torus" in topology else 4,
        node="dgx-h100",
        technology=technology,
        topology=topology,
        tenants=tenants,
        site="{}",
    )
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_render_writes_what_it_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert (
        main(["deploy", "render", scenario(tmp_path, "rocev2-400g"), "--out", str(out), "--json"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)["result"]
    written = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert told["files"] == written
    assert told["skipped"] == {}
    assert "hosts/n0003/nics.sh" in written


def test_a_plan_against_files_says_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = scenario(tmp_path, "rocev2-400g"), tmp_path / "out"
    assert main(["deploy", "render", path, "--out", str(out)]) == 0
    assert main(["deploy", "plan", path, "--running", str(out)]) == 0
    assert capsys.readouterr().out.endswith("nothing differs\n")
    conf = out / "switches/leaf000/sonic/frr.conf"
    conf.write_text(conf.read_text().replace("timers bgp 1 3", "timers bgp 3 9"))
    assert main(["deploy", "plan", path, "--running", str(out), "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["result"]["changes"]
    assert change["lines"] == ["~ router bgp 4200000000: timers bgp 3 9 -> timers bgp 1 3"]


@pytest.mark.parametrize("more", [[], ["--lab", "x", "--running", "y"]])
def test_a_plan_needs_one_thing_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    assert main(["deploy", "plan", scenario(tmp_path, "rocev2-400g"), *more]) == 2
    assert "either --lab NAME or --running FOLDER" in capsys.readouterr().err


def test_a_tenant_s_mistake_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(tmp_path, "infiniband-ndr", "[{name: a, nodes: 0-9}]")
    assert main(["deploy", "render", path, "--out", str(tmp_path / "out")]) == 2
    assert f"{path}:7:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tenants", "says"),
    [
        ("[{name: a, nodes: 3-1}]", "write '1-3'"),
        ("[{name: a, nodes: x}]", "is not a list of node numbers"),
        ("[{name: a, nodes: '1'}, {name: a, nodes: '2'}]", "two tenants have the name 'a'"),
        ("[{name: a, nodes: '1', partition_key: 0x7fff}]", "partition_key"),
    ],
)
def test_tenants_are_checked_as_they_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tenants: str, says: str
) -> None:
    assert main(["check", scenario(tmp_path, "infiniband-ndr", tenants)]) == 2
    assert says in capsys.readouterr().err


def test_apply_refuses_what_breaks_a_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # In a torus, shortest paths over one priority can wait in a circle.
    path = scenario(tmp_path, "rocev2-400g", topology="{kind: torus, dimensions: [4, 4, 1]}")
    assert main(["deploy", "apply", path, "--lab", "none", "--dir", str(tmp_path)]) == 2
    assert "nothing was applied" in capsys.readouterr().err


def test_check_misses_a_switch_whose_file_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["deploy", "render", scenario(tmp_path, "rocev2-400g"), "--out", str(out)]) == 0
    assert main(["deploy", "check", str(out)]) == 0
    gone = min(out.glob("switches/*/*/config_db.json"))
    gone.unlink()
    capsys.readouterr()
    assert main(["deploy", "check", str(out)]) == 1
    assert f"error: {gone.relative_to(out)}\n  is not there" in capsys.readouterr().out
