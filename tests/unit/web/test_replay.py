"""Replay: the load of every cable of a simulation over time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from netloom.app.jobs.pool import JobPool
from netloom.app.simulate import prepare, run_told
from netloom.spec.example import example_text
from netloom.spec.load import parse
from netloom.study.simulate.replay import filmed, replay_of

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from netloom.study.simulate.replay import Replay
    from netloom.study.simulate.simulation import Simulation
    from netloom.web.workbench import Workbench

EXAMPLE = "incast-rocev2"
EngineWord = Literal["flow", "packet"]
ENGINES: tuple[EngineWord, ...] = ("flow", "packet")


def _run(engine: EngineWord, *, films: bool = True) -> Simulation:
    case = prepare(parse(example_text(EXAMPLE), name=EXAMPLE), engine=engine).case
    return run_told(filmed(case) if films else case, seeds=(1,))


def _replay(simulation: Simulation) -> Replay:
    found = replay_of(simulation)
    assert found is not None
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_hold_what_the_links_carried(engine: EngineWord) -> None:
    """The shares of all frames times their span give the bytes of every link."""
    simulation = _run(engine)
    table = simulation.first.delivery.tables["utilisation"]
    every_s = _replay(simulation).every_s
    rate_bps = simulation.grid.link_rate_bps
    link = table["link"].astype(np.int64)
    share = table["utilisation"].astype(np.float64)
    carried = np.bincount(link, share, minlength=len(rate_bps)) * every_s * rate_bps / 8
    expected = simulation.first.delivery.link_bytes
    slack = 0.05 if engine == "flow" else 1e-3  # flows count payload in frames, headers in bytes
    assert carried == pytest.approx(expected, rel=slack, abs=2000)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_cable_of_the_incast_is_full_and_most_others_idle(engine: EngineWord) -> None:
    replay = _replay(_run(engine))
    most = replay.load.max(axis=0)
    assert most.max() > 240
    assert np.count_nonzero(most == 1) > len(most) / 2
    assert replay.load.min() >= 1


def test_filming_changes_no_result_of_the_packet_engine() -> None:
    filmed_run, plain_run = (_run("packet", films=films).first.delivery for films in (True, False))
    assert np.array_equal(filmed_run.finish_ps, plain_run.finish_ps)
    assert np.array_equal(filmed_run.link_bytes, plain_run.link_bytes)
    assert filmed_run.counters == plain_run.counters


def test_every_cable_has_one_cell() -> None:
    simulation = _run("packet")
    layout = _replay(simulation).layout
    assert sorted(layout.cables.tolist()) == list(range(len(simulation.grid.link_source) // 2))
    assert sum(sum(block.lengths) for block in layout.blocks) == len(layout.cables)


def test_a_job_gives_its_frames(operator: TestClient, workbench: Workbench) -> None:
    asked = {"kind": "simulate", "text": example_text(EXAMPLE), "options": {"engine": "flow"}}
    job = operator.post("/api/v1/jobs", json=asked).json()["result"]["job"]
    path = f"/api/v1/jobs/{job}"
    assert operator.get(f"{path}/replay").status_code == 404
    pool = JobPool(workbench.pool.table)  # the site's own has no worker
    try:
        while operator.get(path).json()["result"]["state"] in {"waiting", "running"}:
            time.sleep(0.05)
    finally:
        pool.close()
    replay = operator.get(f"{path}/replay").json()["result"]
    cells, frames = replay["fabric"]["num_cells"], replay["num_frames"]
    assert len(operator.get(f"{path}/frames").content) == cells * frames
    assert len(operator.get(f"{path}/frames?from=3&to=5").content) == 2 * cells
    assert operator.get(f"{path}/frames?from=x").status_code == 400
