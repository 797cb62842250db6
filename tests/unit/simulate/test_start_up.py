"""A command starts without what it does not need: modules by name and number, tables by number."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
cluster: {gpus: 2, gpus_per_node: 1, fabric: {technology: rocev2-400g}}
traffic: [{kind: permutation, size: 1KB}]
"""
JOB = """
cluster: {nodes: 1, fabric: {technology: rocev2-400g}}
job: {model: llama-3.1-8b, training: {global_batch: 8}}
"""
PROGRAM = """
import json, sys, tomllib
parsed, loads = [], tomllib.loads
tomllib.loads = lambda text: parsed.append(text) or loads(text)
from netloom.cli.main import main
assert main(sys.argv[1:]) == 0
print(json.dumps({"modules": list(sys.modules), "parsed": parsed}), file=sys.stderr)
"""
LOOKS = """
import gc, sys
from netloom.cli import start
looks = []
gc.callbacks.append(lambda phase, of: looks.append(gc.get_threshold()[0] == start._OBJECTS))
assert start.main() == 0
print(sum(looks), file=sys.stderr)
"""
PAGES = ("jinja2", "netloom.report.charts")
ARROW = ("nanoarrow",)
OTHERS = ("netloom.formats.simulators", "netloom.formats.infiniband")


@dataclass(frozen=True)
class Start:
    """What a command loaded.

    Attributes:
        modules: Their names.
        parsed: The texts of TOML that it parsed.
    """

    modules: tuple[str, ...]
    parsed: tuple[str, ...]

    def of(self, *packages: str) -> list[str]:
        """Return what it loaded of *packages*."""
        return [name for name in self.modules if name.startswith(packages)]


@cache
def started(*words: str) -> Start:
    """Run a command and return what it loaded."""
    command = [sys.executable, "-c", PROGRAM, *words]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(told.stderr.splitlines()[-1])
    return Start(modules=tuple(found["modules"]), parsed=tuple(found["parsed"]))


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two GPUs, each of which sends to the other."""
    path = tmp_path_factory.mktemp("start") / "small.yaml"
    path.write_text(SCENARIO)
    return path


def test_flows_load_no_packet_engine_and_no_formats_of_others(scenario: Path) -> None:
    start = started("simulate", str(scenario), "--engine", "flow", "--json")
    assert "netloom.engines.flow.run" in start.modules
    assert not start.of("netloom.engines.packet", *OTHERS)


def test_packets_load_no_flows_no_jobs_and_nothing_that_folds(scenario: Path) -> None:
    start = started("simulate", str(scenario), "--json")
    assert "netloom.engines.packet.engine" in start.modules
    assert not start.of("netloom.engines.flow", "netloom.engines.packet.known", *OTHERS)
    assert not start.of("netloom.step", "netloom.compute", "netloom.validated")


def test_json_needs_neither_rich_nor_pages_nor_arrow(scenario: Path) -> None:
    start = started("simulate", str(scenario), "--json")
    assert not start.of("rich", *PAGES, *ARROW)


@pytest.mark.parametrize(
    "words",
    [
        ("predict",),
        ("compare", "--technologies", "rocev2-400g"),
        ("expect", "--nodes", "2"),
        ("goodput",),
        ("size", "--gpus", "64"),
    ],
    ids=" ".join,
)
def test_a_question_answered_in_json_loads_no_text_and_no_page(words: tuple[str, ...]) -> None:
    """45 modules of rich, of which most commands loaded all before they began."""
    start = started(*words, "--json")
    assert "netloom.cli.show" in start.modules
    assert not start.of("rich", *PAGES, *ARROW)


def test_a_plan_in_json_loads_no_text_and_no_page(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    start = started("plan", str(path), "--json")
    assert "netloom.study.plan.machines" in start.modules
    assert not start.of("rich", *PAGES, *ARROW)


def test_a_prediction_loads_less_than_a_sixth_of_netloom() -> None:
    start = started("predict", "--json")
    assert "netloom.step.predict" in start.modules
    assert len(start.of("netloom.")) <= 226


def test_of_netloom_itself_less_than_a_sixth_is_loaded(scenario: Path) -> None:
    """223 of 1,424 modules where 293 had been, those that run components apart among them."""
    start = started("simulate", str(scenario), "--json")
    assert len(start.of("netloom.")) <= 223


def test_only_the_parts_that_a_simulation_names_are_parsed(scenario: Path) -> None:
    """A node with its GPU, scale-up network and NIC, a technology with its NIC and switch."""
    start = started("simulate", str(scenario), "--json")
    kinds = ("nodes", "gpus", "scale_ups", "nics", "technologies", "switches")
    parts = [text for text in start.parsed if text.startswith(tuple(f"[{kind}." for kind in kinds))]
    assert len(parts) <= len(kinds) + 1
    # The rest are sources, each that these parts name once.
    assert len(start.parsed) == len(set(start.parsed))
    assert sum(map(len, start.parsed)) < 20_000  # of 154 kB that ship


def test_no_time_goes_into_looking_for_cycles(scenario: Path) -> None:
    """A look among 100,000 objects took 54 to 71 ms of 1,050 to 1,210; it sets out at 200,000."""
    command = [sys.executable, "-c", LOOKS, "simulate", str(scenario), "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert int(told.stderr.splitlines()[-1]) == 0
