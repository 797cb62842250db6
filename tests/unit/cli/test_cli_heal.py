from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TRAFFIC = """
cluster:
  nodes: 4
  node: dgx-h100
  fabric: {technology: infiniband-ndr, topology: {kind: fat-tree}}
traffic: [{kind: permutation, size: 1MB}]
"""


def test_a_network_without_a_job_can_be_healed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # It comes as far as the lab, which is not there.
    path = tmp_path / "traffic.yaml"
    path.write_text(TRAFFIC, encoding="ascii")
    assert main(["heal", str(path), "--lab", "none", "--dir", str(tmp_path)]) == 2
    assert "there is no lab 'none'" in capsys.readouterr().err
