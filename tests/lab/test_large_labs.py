"""Labs of 256 to 4,000 hosts: up, watched, broken, located, planned for, and down again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from labs_under_test import LabUnderTest, need, wait_until

from netloom.app.lab.labs import bring_down
from netloom.app.lab.store import LabFolder
from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(3600)]

SCENARIO = """
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: {technology}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: {nodes}}}}}
"""


@pytest.mark.parametrize(
    ("technology", "nodes", "hosts"),
    [
        ("rocev2-400g", 32, 256),
        ("infiniband-ndr", 32, 256),
        ("infiniband-ndr", 128, 1024),
        ("infiniband-hdr", 500, 4000),
    ],
)
def test_a_cable_pulled_in_a_large_lab_is_located_alone_and_a_plan_made(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    technology: str,
    nodes: int,
    hosts: int,
) -> None:
    need("roce" if technology.startswith("roce") else "infiniband")
    scenario, labs = tmp_path / "large.yaml", tmp_path / "labs"
    scenario.write_text(SCENARIO.format(technology=technology, nodes=nodes), encoding="utf-8")
    assert main(["lab", "up", str(scenario), "--name", "large", "--dir", str(labs)]) == 0
    place = LabFolder.of("large", labs)
    where = [str(scenario), "--lab", "large", "--dir", str(labs)]

    def findings() -> list[tuple[str, str]]:
        capsys.readouterr()
        assert main(["locate", *where, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["result"]["findings"]
        return [(one["part"].partition(" ")[0], one["kind"]) for one in told]

    try:
        plant = place.read_plant()
        assert sum(device.role == "host" for device in plant.devices) == hosts
        assert wait_until(lambda: findings() == [])
        uplink = plant.cables[-1]
        LabUnderTest(place).fault("unlink", f"cable:{uplink.number}")
        assert wait_until(lambda: findings() == [(f"cable:{uplink.number}", "missing cable")])
        capsys.readouterr()
        main(["heal", *where, "--json"])
        (plan,) = json.loads(capsys.readouterr().out)["result"]["plans"]
        assert plan["finding"]["part"].startswith(f"cable:{uplink.number}")
        LabUnderTest(place).fault("clear")
        assert wait_until(lambda: findings() == [])
    finally:
        bring_down(place)
