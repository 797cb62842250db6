"""Labs for the tests that run the real programs, each in a folder of its own."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from netloom.app.lab import infiniband, roce
from netloom.app.lab.labs import bring_down
from netloom.app.lab.store import LabFolder
from netloom.cli.main import main
from netloom.drivers.programs import missing_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# The shipped switches have 64 ports and more; with these a small cluster has several spines.
OWN = """
[switches.QM9700]
modes = [{ count = 8, rate = "400Gbps" }, { count = 16, rate = "200Gbps" }]
[switches.Tomahawk-5]
modes = [{ count = 2, rate = "800Gbps" }, { count = 4, rate = "400Gbps" }]
"""
SCENARIO = """
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: {technology}, topology: {{kind: fat-tree, tiers: 2}}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 64}}}}
catalog: own.toml
"""


def write_scenario(folder: Path, technology: str, nodes: int) -> Path:
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    path = folder / f"{technology}.yaml"
    path.write_text(SCENARIO.format(technology=technology, nodes=nodes), encoding="utf-8")
    return path


@dataclass(frozen=True)
class LabUnderTest:
    """A lab, driven by the command line as a user does."""

    place: LabFolder

    def run(self, *arguments: str) -> int:
        verb, *rest = arguments
        return main(["lab", verb, self.place.name, *rest, "--dir", str(self.place.path.parent)])

    def fault(self, *arguments: str) -> None:
        assert self.run("fault", *arguments) == 0

    def status(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        assert self.run("status", "--json") == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
        return found


MOST_WAIT_S = 300.0  # ends a test that hangs; what takes longer on a busy machine is no failure


def wait_until(probe: Callable[[], bool]) -> bool:
    """Return whether *probe* comes true, asked again and again."""
    end_s = time.monotonic() + MOST_WAIT_S
    while not probe():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.05)
    return True


def free_port() -> int:
    """Return a TCP port that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def need(kind: str) -> None:
    """Skip where a program is missing, and say which package has it."""
    programs = infiniband.PROGRAMS if kind == "infiniband" else roce.PROGRAMS
    missing = missing_packages(programs)
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")
    if kind == "roce" and os.geteuid() != 0:
        pytest.skip("needs root")


def lab_in(folder: Path, name: str, technology: str, nodes: int, *options: str) -> LabUnderTest:
    scenario = write_scenario(folder, technology, nodes)
    labs = folder / "labs"
    arguments = ["lab", "up", str(scenario), "--name", name, "--dir", str(labs), *options]
    assert main(arguments) == 0
    return LabUnderTest(LabFolder.of(name, labs))


@contextmanager
def infiniband_lab(folder: Path, *options: str) -> Iterator[LabUnderTest]:
    """Give a lab of 16 hosts, 4 leaves and 2 spines; skip where it cannot be."""
    need("infiniband")
    lab = lab_in(folder, "ib", "infiniband-ndr", 2, *options)
    try:
        yield lab
    finally:
        bring_down(lab.place)


@contextmanager
def roce_lab(folder: Path) -> Iterator[LabUnderTest]:
    """Give a lab of 8 hosts, 4 leaves, 2 spines; skip where it cannot be."""
    need("roce")
    lab = lab_in(folder, "roce", "rocev2-400g", 1)
    try:
        yield lab
    finally:
        bring_down(lab.place)
