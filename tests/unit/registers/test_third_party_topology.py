"""A HyperX from a package of its own (tests/data/hyperx), through the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[2] / "data" / "hyperx"

PROGRAM = "import sys; from netloom.cli.start import main; sys.exit(main())"

SCENARIO = """
cluster:
  nodes: 16
  node: dgx-h100
  fabric:
    technology: infiniband-ndr
    topology: {kind: hyperx, dimensions: [4, 4], width: 2}
job:
  model: llama-3.1-8b
  training: {sequence: 8192, global_batch: 128}
  parallel: {tensor: 8, data: 16}
traffic:
  - {kind: permutation, size: 100KB}
"""


def install(package: Path, site: Path) -> None:
    """Leave in *site* what pip would: the modules, and the metadata that declares them."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    shutil.copytree(package / "src", site, dirs_exist_ok=True)
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {at}" for name, at in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(PACKAGE, folder)
    (folder / "x.yaml").write_text(SCENARIO)
    return folder


def netloom(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (ourselves)
        [
            sys.executable,
            "-c",
            "import sys; from netloom.cli.start import main; sys.exit(main())",
            *arguments,
        ],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def answer(site: Path, *arguments: str) -> dict[str, Any]:
    done = netloom(site, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    result: dict[str, Any] = found.get("result", found)
    return result


def test_size_counts_its_switches_and_cables(site: Path) -> None:
    # 4 x 4 switches, each with 2 cables to the 3 others of its row and of its column:
    # 16 x 2 x (3 + 3) / 2 = 96 cables. 16 nodes x 8 NICs are 128 more.
    found = answer(site, "size", "x.yaml")
    assert found["topology"] == {"kind": "hyperx", "dimensions": [4, 4], "width": 2}
    assert found["switches"] == 16
    assert found["cables_by_stage"] == {"node-switch": 128, "switch-switch": 96}


def test_size_takes_it_as_an_option(site: Path) -> None:
    # 32 nodes of 8 NICs: on 2 x 2 switches 64 NICs fill all 64 ports; on 3 x 3 there are 4 nodes a
    # switch, 32 ports, and room for the 4 neighbours.
    assert answer(site, "size", "--gpus", "256", "--topology", "hyperx")["switches"] == 9
    assert "hyperx" in netloom(site, "size", "--help").stdout


def test_predict_knows_its_doubts_and_its_taper(site: Path) -> None:
    # Half a row of 4 keeps 2 switches x 2 cables a switch across the cut, for 8 NICs: 8 / 4 = 2.
    found = answer(site, "size", "x.yaml")
    assert found["oversubscription"] == 2
    assert answer(site, "predict", "x.yaml")["step_time_s"] > 0.5


def test_compare_takes_it_through_every_technology(site: Path) -> None:
    chosen = ("--technologies", "infiniband-ndr,rocev2-400g")
    done = netloom(site, "compare", "x.yaml", *chosen)
    assert done.returncode == 0, done.stderr
    assert "A HyperX is taken with minimal routes" in " ".join(done.stdout.split())


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_simulate_routes_over_it(site: Path, engine: str) -> None:
    found = answer(site, "simulate", "x.yaml", "--engine", engine)
    assert found["flows"] == found["flows_finished"] == 128  # one from each GPU


def test_the_schema_and_the_messages_know_it(site: Path) -> None:
    assert "hyperx" in netloom(site, "schema").stdout
    (site / "wrong.yaml").write_text(SCENARIO.replace("width: 2", "wide: 2"))
    assert "did you mean 'width'?" in netloom(site, "check", "wrong.yaml").stderr
    (site / "wrong.yaml").write_text(SCENARIO.replace("kind: hyperx", "kind: hyprex"))
    assert "did you mean 'hyperx'?" in netloom(site, "check", "wrong.yaml").stderr


def test_a_package_that_is_broken_stops_only_who_asks_for_it(site: Path, tmp_path: Path) -> None:
    install(PACKAGE, tmp_path)
    (tmp_path / "netloom_hyperx.py").write_text("import no_such_thing\n")
    (tmp_path / "x.yaml").write_text(SCENARIO)
    done = netloom(tmp_path, "size", "x.yaml")
    assert done.returncode == 2
    assert "netloom-hyperx 1.0" in done.stderr
    assert netloom(tmp_path, "size", "--gpus", "64", "--topology", "torus").returncode == 0
    other = "kind: torsu"
    (tmp_path / "x.yaml").write_text(SCENARIO.replace("kind: hyperx", other))
    assert "did you mean 'torus'?" in netloom(tmp_path, "check", "x.yaml").stderr
