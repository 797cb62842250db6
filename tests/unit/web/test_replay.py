"""Replay: load, queue and pauses of every cable of a simulation over time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from netloom.app.jobs.pool import JobPool
from netloom.app.simulate import prepare, run_told
from netloom.engines.packet.frames import LinkFrames
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
    load = _replay(_run(engine)).bytes_of["load"]
    most = load.max(axis=0)
    assert most.max() > 240
    assert np.count_nonzero(most == 1) > len(most) / 2
    assert load.min() >= 1


def test_filming_changes_no_result_of_the_packet_engine() -> None:
    filmed_run, plain_run = (_run("packet", films=films).first.delivery for films in (True, False))
    assert np.array_equal(filmed_run.finish_ps, plain_run.finish_ps)
    assert np.array_equal(filmed_run.link_bytes, plain_run.link_bytes)
    assert filmed_run.counters == plain_run.counters


def test_the_longest_queue_is_before_the_cable_of_the_incast() -> None:
    replay = _replay(_run("packet"))
    queue, load = replay.bytes_of["queue"], replay.bytes_of["load"]
    longest = int(queue.max(axis=0).argmax())
    assert queue[:, longest].max() == 255  # of the longest queue of the run
    assert load[:, longest].max() == load.max()


def test_only_cables_whose_senders_were_paused_show_it() -> None:
    simulation = _run("packet")
    replay, pauses = _replay(simulation), simulation.first.delivery.tables["pauses"]
    held_s = (pauses["end_ps"].astype(float) - pauses["begin_ps"].astype(float)) * 1e-12
    paused = np.unique(replay.layout.cables[np.any(replay.bytes_of["paused"] > 1, axis=0)])
    ever = np.unique(pauses["link"].astype(np.int64) // 2)
    assert set(paused.tolist()) <= set(ever.tolist())
    # A pause that lasts over a quarter of a frame meets one of its four looks.
    long = pauses["link"].astype(np.int64)[held_s > replay.every_s / 4] // 2
    assert len(long)
    assert set(long.tolist()) <= set(paused.tolist())


def test_frames_of_all_looks_add_up_whatever_their_number() -> None:
    """When 200 frames become 100, a queue keeps its most and a pause its share."""

    class Core:
        looks = 0

        def waiting_bytes(self) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
            self.looks += 1
            return np.array([self.looks, 7], dtype=np.uint32)

        def paused_lanes(self) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
            return np.array([2 * (self.looks % 2), 0], dtype=np.uint16)

        def link_bytes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            return np.array([self.looks, 0], dtype=np.int64)

    core, frames = Core(), LinkFrames(every_ps=4, num_links=2)
    while core.looks < 4 * 200 + 2:  # two looks beyond
        frames.look(core)  # type: ignore[arg-type]
    table = frames.table(np.array([8e12, 8e12]), core.link_bytes())
    assert frames.every_ps == 8
    first = table["link"] == 0
    assert table["queued_bytes"][first].tolist() == [*range(8, 801, 8), 802]
    assert table["paused_share"][first].tolist() == [0.5] * 101
    # A byte a look, eight looks of 1 ps a frame, at 1 byte a picosecond.
    assert table["utilisation"][first].tolist() == [1.0] * 100 + [0.25]


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
    assert replay["quantities"] == ["load"]  # flows wait for nothing
    assert operator.get(f"{path}/frames?of=queue").status_code == 400
