"""A watch locates what real labs do, each round in a process of its own.

``bench/locate_labs.py`` has every fault; here are those that show a way of seeing each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from labs_under_test import LabUnderTest, free_port, infiniband_lab, roce_lab, wait_until

from netloom.cli.main import main
from netloom.ops.observe.cases import MISSES_TO_CLOSE, cases_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab

FILES = {"infiniband": "infiniband-ndr.yaml", "roce": "rocev2-400g.yaml"}


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with infiniband_lab(tmp_path_factory.mktemp("locate-ib")) as made:
        assert wait_until(lambda: rounds(made, tmp_path_factory.mktemp("r") / "s.db", 1) == [])
        yield made


@pytest.fixture(scope="module")
def roce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    with roce_lab(tmp_path_factory.mktemp("locate-roce")) as made:
        assert wait_until(lambda: rounds(made, tmp_path_factory.mktemp("r") / "s.db", 1) == [])
        yield made


def where(lab: LabUnderTest, store: Path) -> list[str]:
    labs = lab.place.path.parent
    scenario = labs.parent / FILES[lab.place.read().kind]
    return [str(scenario), "--lab", lab.place.name, "--dir", str(labs), "--store", str(store)]


def rounds(lab: LabUnderTest, store: Path, count: int) -> list[tuple[str, str]]:
    """Return what is open after so many rounds more: parts and kinds, the surest first."""
    for _ in range(count):
        main(["watch", *where(lab, store), "--once"])
    found = [case for case in cases_in(store, start_s=0) if case.closed_s is None]
    found.sort(key=lambda case: -case.confidence)
    return [(str(case.part), case.kind) for case in found]


def test_a_pulled_cable_is_found_at_once_and_over_once_it_is_back(
    infiniband: LabUnderTest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "s.db"
    part = f"cable:{infiniband.place.read_plant().find('leaf:3')[-1].number}"
    assert rounds(infiniband, store, 2) == []
    infiniband.fault("unlink", part)
    assert wait_until(lambda: rounds(infiniband, store, 3) == [(part, "missing cable")])
    assert f"opened: {part}" in capsys.readouterr().out
    infiniband.fault("clear")
    # The port counted one loss of its link, which is no flapping.
    assert wait_until(lambda: rounds(infiniband, store, MISSES_TO_CLOSE) == [])
    (case,) = cases_in(store, start_s=0)
    assert case.closed_s is not None
    capsys.readouterr()
    scenario = where(infiniband, store)[0]
    assert main(["locate", scenario, "--store", str(store), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["result"]["findings"]
    assert (told["kind"], told["closed_s"]) == ("missing cable", case.closed_s)


def test_symbol_errors_and_a_dead_manager_are_found_together(
    infiniband: LabUnderTest, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    part = f"cable:{infiniband.place.read_plant().find('leaf:1')[-1].number}"
    assert rounds(infiniband, store, 1) == []
    infiniband.fault("symbol-errors", part, "--count", "2000")
    assert wait_until(lambda: rounds(infiniband, store, 1) == [(part, "symbol errors")])
    infiniband.fault("dead-sm")
    both = {(part, "symbol errors"), ("opensm-0.0", "dead subnet manager")}
    try:
        assert wait_until(lambda: set(rounds(infiniband, store, 3)) == both)
    finally:
        infiniband.fault("clear")


def test_findings_are_served_and_outlive_kill_9(infiniband: LabUnderTest, tmp_path: Path) -> None:
    store, port = tmp_path / "s.db", free_port()
    part = f"cable:{infiniband.place.read_plant().find('leaf:2')[-1].number}"
    infiniband.fault("unlink", part)
    command = [sys.executable, "-m", "netloom.cli.main", "watch", *where(infiniband, store)]
    command += ["--every", "0.5s", "--listen", f"127.0.0.1:{port}"]

    def served() -> bool:
        with suppress(OSError):
            url = f"http://127.0.0.1:{port}/metrics"
            with urllib.request.urlopen(url, timeout=60) as answer:
                text = answer.read().decode()
            return f'netloom_finding_confidence{{part="{part} ' in text
        return False

    for _ in range(2):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: S603
            assert wait_until(served)
            os.kill(process.pid, signal.SIGKILL)
    infiniband.fault("clear")
    assert [(str(case.part), case.kind) for case in cases_in(store, start_s=0)] == [
        (part, "missing cable")
    ]


def test_probes_find_what_every_session_survives(roce: LabUnderTest, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    assert rounds(roce, store, 1) == []
    roce.fault("silent-drop", "link:leaf:3-spine:0", "--larger-than", "1000")
    (cable,) = roce.place.read_plant().find("link:leaf:3-spine:0")
    loss = [(f"cable:{cable.number}", "large-packet loss")]
    try:
        assert wait_until(lambda: rounds(roce, store, 1) == loss)
    finally:
        roce.fault("clear")
