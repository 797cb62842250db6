"""A disk that is really full, under a watch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from netloom.ops.observe.store import ObservationStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.lab

SCENARIO = """
cluster:
  nodes: 2
  node: dgx-h100
  fabric: {technology: rocev2-400g, topology: {kind: fat-tree, tiers: 2}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
"""
STEPS = 60_000  # some 2 MB in the store


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of 700 kB."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    place = tmp_path / "disk"
    place.mkdir()
    done = mount("-t", "tmpfs", "-o", "size=700k", "tmpfs", str(place))
    if done != 0:
        pytest.skip("this kernel mounts no tmpfs here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False, timeout=300)  # noqa: S603, S607


def mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], check=False, timeout=300).returncode  # noqa: S603, S607


def test_a_watch_waits_for_space_and_then_has_everything_once(disk: Path, tmp_path: Path) -> None:
    scenario, steps = tmp_path / "x.yaml", tmp_path / "job.jsonl"
    scenario.write_text(SCENARIO, encoding="utf-8")
    rows = ({"step": n, "step_s": 1.0 + n, "time_s": 1.8e9 + n} for n in range(STEPS))
    steps.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    command = [sys.executable, "-m", "netloom.cli.main", "watch", str(scenario), "--adapters"]
    command += ["--steps", str(steps), "--store", str(disk / "s.db"), "--every", "0.5s"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stderr is not None
        said = until(process.stderr, "store-full")
        assert "there is no space left for the store" in said["error"]
        assert mount("-o", "remount,size=32m", str(disk)) == 0
        until(process.stderr, "store-back")
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    with ObservationStore(disk / "s.db") as kept:
        assert kept.num_rows()["sample"] == STEPS
        assert kept.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def until(stream: Any, event: str) -> Any:
    """Return the next line of the log that tells of *event*."""
    while True:
        line = json.loads(stream.readline())
        if line["event"] == event:
            return line
