"""Whatever ends netloom, its own remains are found and removed, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from labs_under_test import lab_in, need, wait_until, write_scenario

from netloom.app.lab.labs import bring_down
from netloom.app.lab.store import LabFolder
from netloom.cli.main import main
from netloom.drivers import netns
from netloom.drivers.programs import marked
from netloom.ops.lab import MARK, namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.lab


def killed_in_the_middle(scenario: Path, place: LabFolder, *, is_time: Callable[[], bool]) -> None:
    """Start ``netloom lab up`` and kill it with SIGKILL as soon as *is_time*."""
    command = [sys.executable, "-m", "netloom.cli.main", "lab", "up", str(scenario)]
    options = ["--name", place.name, "--dir", str(place.path.parent)]
    with subprocess.Popen(  # noqa: S603  (our own arguments)
        [*command, *options], stdout=subprocess.DEVNULL
    ) as starting:
        assert wait_until(lambda: is_time() or starting.poll() is not None)
        assert starting.poll() is None, "it was over before it could be killed"
        os.kill(starting.pid, signal.SIGKILL)


def test_a_second_up_removes_what_a_killed_one_left_and_spares_another_lab(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("infiniband")
    other = lab_in(tmp_path, "other", "infiniband-ndr", 1)
    others = marked(MARK, other.place.mark)
    place = LabFolder.of("mine", tmp_path / "labs")
    large = write_scenario(tmp_path, "infiniband-hdr", 64)  # 512 hosts take OpenSM seconds
    try:
        killed_in_the_middle(large, place, is_time=lambda: len(marked(MARK, place.mark)) == 2)
        left = marked(MARK, place.mark)
        assert len(left) == 2
        capsys.readouterr()
        mine = lab_in(tmp_path, "mine", "infiniband-ndr", 1)
        assert "removed what was left of an earlier lab" in capsys.readouterr().out
        assert not any(one.is_alive for one in left)
        assert mine.status(capsys)["hosts"] == {"up": 8, "of": 8}
        assert marked(MARK, other.place.mark) == others
        assert all(one.is_alive for one in others)
    finally:
        bring_down(place)
        bring_down(other.place)
    assert marked(MARK, place.mark) == marked(MARK, other.place.mark) == ()


def test_down_finds_a_lab_whose_record_was_lost(tmp_path: Path) -> None:
    need("infiniband")
    lab = lab_in(tmp_path, "lost", "infiniband-ndr", 1)
    (lab.place.path / "lab.json").unlink()
    assert lab.run("down") == 0
    assert marked(MARK, lab.place.mark) == ()


def test_namespaces_of_a_killed_roce_lab_are_removed(tmp_path: Path) -> None:
    need("roce")
    place = LabFolder.of("mine", tmp_path / "labs")
    prefix = namespace_of(place.mark, "")
    scenario = write_scenario(tmp_path, "rocev2-400g", 1)
    netns.add(["nl_mine_not-ours"])
    try:
        killed_in_the_middle(scenario, place, is_time=lambda: len(netns.namespaces(prefix)) > 3)
        assert netns.namespaces(prefix)
        assert main(["lab", "down", "mine", "--dir", str(tmp_path / "labs")]) == 0
        assert netns.namespaces(prefix) == ()
        assert netns.namespaces("nl_mine_not-ours") == ("nl_mine_not-ours",)
    finally:
        bring_down(place)
        netns.remove(["nl_mine_not-ours"])


def test_an_engine_that_cannot_route_the_fabric_leaves_nothing_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("infiniband")
    scenario = write_scenario(tmp_path, "infiniband-ndr", 1)
    labs = str(tmp_path / "labs")
    options = ["--name", "bad", "--dir", labs, "--routing", "torus-2QoS"]
    assert main(["lab", "up", str(scenario), *options]) == 2
    assert "cannot route this fabric" in capsys.readouterr().err
    assert marked(MARK, LabFolder.of("bad", tmp_path / "labs").mark) == ()
