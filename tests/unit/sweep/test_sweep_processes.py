from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from counting import (
    QUESTIONS,
    driver_of,
    events,
    is_alive,
    one_that_runs,
    starts,
    stored,
    sweep_of,
    wait_until_gone,
    wait_until_stored,
)

from netloom.app.sweep.run import sweep
from netloom.drivers.processes import Processes
from netloom.results.store import AnswerStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from netloom.study.sweep.result import Sweep


def run(folder: Path, asked: dict[str, Any], *, workers: int = 2) -> Sweep:
    return sweep(asked, store=folder / "store.db", workers=workers, questions=QUESTIONS)


def test_every_point_is_computed_once_and_the_second_run_asks_only_the_store(
    tmp_path: Path,
) -> None:
    asked = sweep_of(tmp_path, num_seeds=8)
    first = run(tmp_path, asked)
    assert (first.num_from_store, first.num_computed, len(first.failed)) == (0, 8, 0)
    second = run(tmp_path, asked)
    assert (second.num_from_store, second.num_computed) == (8, 0)
    assert starts(tmp_path) == dict.fromkeys(range(8), 1)
    assert [answer.result for answer in first.answers] == [a.result for a in second.answers]
    # 4 nodes: value = 4 x 10 + seed.
    values = [answer.result["value_s"] for answer in first.answers if answer.result]
    assert values == [40.0 + seed for seed in range(8)]


def test_the_work_is_shared_among_the_workers(tmp_path: Path) -> None:
    run(tmp_path, sweep_of(tmp_path, num_seeds=8, nap_ms=50), workers=3)
    assert len({pid for _, _, pid in events(tmp_path)}) == 3


def test_a_grown_sweep_computes_only_what_is_new(tmp_path: Path) -> None:
    run(tmp_path, sweep_of(tmp_path, num_seeds=3))
    grown = run(tmp_path, sweep_of(tmp_path, num_seeds=5))
    assert (grown.num_from_store, grown.num_computed) == (3, 2)


def test_a_failed_point_is_a_value_and_is_tried_again_the_next_time(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=4, refuse=[2])
    found = run(tmp_path, asked)
    assert [answer.point for answer in found.failed] == [2]
    assert found.failed[0].error == "seed 2: has no answer; ask another"
    assert (found.num_computed, stored(tmp_path / "store.db")) == (3, {0, 1, 3})
    again = run(tmp_path, asked)
    assert (again.num_from_store, len(again.failed)) == (3, 1)
    assert starts(tmp_path)[2] == 2


def test_a_point_that_keeps_killing_its_worker_fails_alone(tmp_path: Path) -> None:
    found = run(tmp_path, sweep_of(tmp_path, num_seeds=4, die=[1]))
    assert [answer.point for answer in found.failed] == [1]
    assert "its worker died 3 times, the last time of SIGKILL" in found.failed[0].error
    assert starts(tmp_path) == {0: 1, 1: 3, 2: 1, 3: 1}


def test_a_killed_worker_loses_only_what_it_was_doing(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=12, nap_ms=150)
    with driver_of(tmp_path, asked) as driver:
        wait_until_stored(tmp_path / "store.db", 3)
        seed, pid = one_that_runs(tmp_path)
        os.kill(pid, signal.SIGKILL)
        out, err = driver.communicate(timeout=300)
    assert (out.split(), err) == (["0", "12", "0"], "")
    # Between our look and the signal it may have ended, and the next begun.
    twice = {again for again, count in starts(tmp_path).items() if count > 1}
    assert len(twice) <= 1
    assert set(starts(tmp_path).values()) <= {1, 2}
    assert twice <= {seed} or ended_the_first_time(tmp_path, seed)
    assert stored(tmp_path / "store.db") == set(range(12))


def ended_the_first_time(folder: Path, seed: int) -> bool:
    """Return whether *seed* ended the first time that it was begun."""
    return [what for what, this, _ in events(folder) if this == seed] == ["start", "end"]


def test_a_killed_driver_loses_only_what_was_running(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=12, nap_ms=100)
    with driver_of(tmp_path, asked) as driver:
        wait_until_stored(tmp_path / "store.db", 4)
        driver.kill()
        driver.communicate()
    kept = stored(tmp_path / "store.db")
    workers = {pid for _, _, pid in events(tmp_path)}
    found = run(tmp_path, asked)
    assert (found.num_from_store, found.num_computed) == (len(kept), 12 - len(kept))
    counts = starts(tmp_path)
    assert all(counts[seed] == 1 for seed in kept)
    twice = [seed for seed, count in counts.items() if count > 1]
    assert len(twice) <= 2  # workers
    wait_until_gone(workers)  # workers of a dead driver do not live on


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=60, nap_ms=100)
    with driver_of(tmp_path, asked) as driver:
        wait_until_stored(tmp_path / "store.db", 2)
        driver.send_signal(signal.SIGINT)
        _, err = driver.communicate(timeout=300)
    assert driver.returncode != 0
    assert err.rstrip().endswith("KeyboardInterrupt")
    kept = stored(tmp_path / "store.db")
    assert 2 <= len(kept) < 60
    assert not any(is_alive(pid) for _, _, pid in events(tmp_path))
    assert not list(tmp_path.glob("store.db-driver-*"))
    with AnswerStore(tmp_path / "store.db") as store:
        assert sum(store.attempts().values()) <= len(kept) + 2


def test_two_drivers_on_one_store_share_the_work(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=20, nap_ms=60)
    with driver_of(tmp_path, asked) as one, driver_of(tmp_path, asked) as other:
        outs = [driver.communicate(timeout=300) for driver in (one, other)]
    assert [err for _, err in outs] == ["", ""]
    accounts = [tuple(map(int, out.split())) for out, _ in outs]
    assert sum(computed for _, computed, _ in accounts) == 20
    assert all(from_store + computed == 20 for from_store, computed, _ in accounts)
    assert starts(tmp_path) == dict.fromkeys(range(20), 1)
    with AnswerStore(tmp_path / "store.db") as store:
        assert set(store.attempts().values()) == {1}


def test_a_driver_takes_over_what_a_dead_one_had_claimed(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=6, nap_ms=200)
    with driver_of(tmp_path, asked) as first, driver_of(tmp_path, asked) as second:
        wait_until_stored(tmp_path / "store.db", 1)
        first.kill()
        out, err = second.communicate(timeout=300)
    assert err == ""
    from_store, computed, failed = map(int, out.split())
    assert (from_store + computed, failed) == (6, 0)
    assert stored(tmp_path / "store.db") == set(range(6))


def test_a_question_that_a_worker_cannot_find_is_a_failed_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "unit/sweep" not in entry])
    found = run(tmp_path, sweep_of(tmp_path, num_seeds=1))
    assert "a worker cannot find what is asked" in found.failed[0].error


def test_waiting_for_nothing_returns_after_the_time_given() -> None:
    with Processes(1) as runner:
        assert runner.wait(0.01) == []
