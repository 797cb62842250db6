"""Sweeps on a real local Dask cluster, whose workers and drivers are killed."""

from __future__ import annotations

import builtins
import logging
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from counting import (
    QUESTIONS,
    driver_of,
    one_that_runs,
    starts,
    stored,
    sweep_of,
    wait_until_stored,
)
from distributed import LocalCluster

from netloom.app.sweep.run import runner_for, sweep
from netloom.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def new_cluster(num_workers: int) -> LocalCluster:
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=num_workers,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with new_cluster(2) as cluster:
        yield cluster


def test_a_killed_worker_loses_only_what_it_was_doing(
    tmp_path: Path, cluster: LocalCluster
) -> None:
    asked = sweep_of(tmp_path, num_seeds=16, nap_ms=150)
    with driver_of(tmp_path, asked, cluster.scheduler_address) as driver:
        wait_until_stored(tmp_path / "store.db", 3)
        _, pid = one_that_runs(tmp_path)
        kept = stored(tmp_path / "store.db")
        in_flight = set(starts(tmp_path)) - kept
        os.kill(pid, signal.SIGKILL)
        out, _ = driver.communicate(timeout=300)
    assert out.split() == ["0", "16", "0"]
    assert stored(tmp_path / "store.db") == set(range(16))
    twice = {seed for seed, count in starts(tmp_path).items() if count > 1}
    # What began between our look and the signal was in flight as well.
    assert not twice & kept
    assert len(twice - in_flight) <= 1
    assert len(twice) <= 2
    assert max(starts(tmp_path).values()) <= 2


def test_a_killed_driver_loses_only_what_was_running(tmp_path: Path, cluster: LocalCluster) -> None:
    asked = sweep_of(tmp_path, num_seeds=16, nap_ms=100)
    with driver_of(tmp_path, asked, cluster.scheduler_address) as driver:
        wait_until_stored(tmp_path / "store.db", 4)
        driver.kill()
        driver.communicate()
    kept = stored(tmp_path / "store.db")
    with driver_of(tmp_path, asked, cluster.scheduler_address) as second:
        out, _ = second.communicate(timeout=300)
    assert [int(number) for number in out.split()] == [len(kept), 16 - len(kept), 0]
    assert stored(tmp_path / "store.db") == set(range(16))
    counts = starts(tmp_path)
    assert all(counts[seed] == 1 for seed in kept)
    # Two workers each had one task that ran and may have begun the one that waited.
    assert sum(counts.values()) <= 16 + 4
    assert max(counts.values()) <= 2


def test_a_local_cluster_is_started_and_ended(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=4, refuse=[3])
    found = sweep(asked, store=tmp_path / "store.db", dask="local", workers=1, questions=QUESTIONS)
    assert (found.num_computed, len(found.failed)) == (3, 1)
    assert found.failed[0].error == "seed 3: has no answer; ask another"
    again = sweep(asked, store=tmp_path / "store.db", workers=1, questions=QUESTIONS)
    assert again.num_from_store == 3, "who computed it does not matter"


def test_a_point_that_kills_its_workers_is_given_up(tmp_path: Path, cluster: LocalCluster) -> None:
    asked = sweep_of(tmp_path, num_seeds=2, die=[1])
    found = sweep(
        asked, store=tmp_path / "store.db", dask=cluster.scheduler_address, questions=QUESTIONS
    )
    assert [answer.point for answer in found.failed] == [1]
    assert "Dask gave it up (KilledWorker" in found.failed[0].error
    assert starts(tmp_path)[1] == 4  # three failures are allowed, the fourth is one too many


def test_a_cluster_that_goes_away_is_told_and_what_it_did_is_kept(tmp_path: Path) -> None:
    asked = sweep_of(tmp_path, num_seeds=100, nap_ms=50)
    with (
        new_cluster(1) as doomed,
        driver_of(tmp_path, asked, doomed.scheduler_address) as driver,
    ):
        wait_until_stored(tmp_path / "store.db", 2)
        doomed.close()
        _, err = driver.communicate(timeout=300)
    assert "is gone; what it finished is in the store" in err.splitlines()[-1]
    assert len(stored(tmp_path / "store.db")) >= 2


def test_an_address_where_nobody_listens_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netloom.drivers.dask.CONNECT_S", 0.5)
    with pytest.raises(OutputError, match=r"no Dask cluster with a worker at tcp://127\.0\.0\.1:9"):
        sweep(
            sweep_of(tmp_path, num_seeds=1),
            store=tmp_path / "store.db",
            dask="tcp://127.0.0.1:9",
            questions=QUESTIONS,
        )


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_dask(name: str, *rest: Any, **more: Any) -> object:
        if name == "distributed":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr("netloom.drivers.dask.importlib.import_module", no_dask)
    with pytest.raises(SpecError, match=r"pip install netloom\[dask\]"):
        runner_for(dask="local")


def test_the_workers_of_somebody_elses_cluster_are_not_ours_to_count() -> None:
    with pytest.raises(SpecError, match="has its own; leave it out"):
        runner_for(dask="tcp://127.0.0.1:9", workers=3)
    with pytest.raises(SpecError, match="workers: 0 is too small"):
        runner_for(workers=0)
