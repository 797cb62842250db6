"""Jobs run in processes of their own; a kill loses no finished result and invents none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from netloom.app.jobs.job import JobLimits, JobRequest
from netloom.app.jobs.kind import job_kinds
from netloom.app.jobs.pool import JobPool
from netloom.app.jobs.quick import QuickAnswers
from netloom.app.jobs.table import LOST, JobTable
from netloom.errors import OutputError, SpecError
from netloom.spec.example import example_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.app.jobs.job import JobRecord

INCAST = example_text("incast-rocev2")
DESIGN = example_text("gpt3-175b-1k")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[JobTable]:
    found = JobTable(tmp_path, now=lambda: 5.0)
    yield found
    found.close()


def _ended(pool: JobPool, job: JobRecord) -> JobRecord:
    for _ in range(1200):
        found = pool.find(job.id)
        assert found is not None
        if found.is_ended:
            return found
        time.sleep(0.05)
    message = f"{job} did not end"
    raise AssertionError(message)


def test_a_job_finds_what_its_command_prints(table: JobTable) -> None:
    told: list[float | None] = []
    pool = JobPool(table, on_change=lambda job: told.append(job.share))
    try:
        job = _ended(pool, pool.ask(JobRequest(kind="size", text=DESIGN, by="ada")))
        slow = _ended(pool, pool.ask(JobRequest(kind="compare", text=DESIGN, by="ada")))
    finally:
        pool.close()
    assert job.state == slow.state == "done"
    envelope = json.loads(table.result(job.id) or b"")
    assert envelope["command"] == "size"
    assert {share for share in told if share is not None} > {1.0}


def test_a_simulation_that_is_stopped_keeps_what_it_has(table: JobTable) -> None:
    pool = JobPool(table)
    long_run = INCAST.replace("32 MB", "3200 MB").replace("32MB", "3200MB")
    try:
        job = pool.ask(JobRequest(kind="simulate", text=long_run, by="ada"))
        while (found := pool.find(job.id)) and found.share is None and not found.is_ended:
            time.sleep(0.02)
        assert pool.stop(job.id, by="vic")
        ended = _ended(pool, job)
    finally:
        pool.close()
    if ended.state == "stopped":
        assert ended.message == "stopped by vic"
        assert ended.is_partial == (table.result(job.id) is not None)
    else:
        assert ended.state == "done"


def test_a_job_that_takes_too_long_is_stopped_with_the_reason(table: JobTable) -> None:
    pool = JobPool(table)
    try:
        limits = JobLimits(time_s=0.2)
        asked = JobRequest(kind="whatif", text=DESIGN, options={"rank": "all"}, limits=limits)
        ended = _ended(pool, pool.ask(asked))
    finally:
        pool.close()
    assert (ended.state, "0.2 s" in ended.message) == ("stopped", True)


def test_a_job_whose_process_is_killed_has_failed_and_the_next_one_runs(table: JobTable) -> None:
    pool = JobPool(table)
    try:
        job = pool.ask(JobRequest(kind="whatif", text=DESIGN, options={"rank": "all"}))
        while not (children := _workers()):
            time.sleep(0.02)
        while (found := pool.find(job.id)) and found.state == "waiting":
            time.sleep(0.02)
        os.killpg(children[0], signal.SIGKILL)
        ended = _ended(pool, job)
        after = _ended(pool, pool.ask(JobRequest(kind="size", text=DESIGN)))
    finally:
        pool.close()
    assert ended.state == "failed"
    assert after.state == "done"


def _workers() -> list[int]:
    found = subprocess.run(  # noqa: S603
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return [int(row.split()[0]) for row in found.splitlines() if "netloom.app.jobs.worker" in row]


SERVER = """
import sys, time
from pathlib import Path
from netloom.app.jobs.job import JobRequest
from netloom.app.jobs.pool import JobPool
from netloom.app.jobs.table import JobTable
from netloom.spec.example import example_text
table = JobTable(Path(sys.argv[1]), now=time.time)
pool = JobPool(table, on_change=lambda job: print(job.id, job.state, flush=True))
text = example_text("gpt3-175b-1k")
pool.ask(JobRequest(kind="size", text=text))
pool.ask(JobRequest(kind="plan", text=text, options={"exhaustive": True}))
pool.ask(JobRequest(kind="goodput", text=text))
time.sleep(600)
"""


def test_kill_9_of_the_server_loses_no_result_and_invents_none(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SERVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        states: dict[str, str] = {}
        for line in server.stdout:
            name, state = line.split()
            states[name] = state
            if list(states.values())[:2] == ["done", "running"]:
                break
        server.send_signal(signal.SIGKILL)
    with_result = JobTable(tmp_path, now=lambda: 9.0)
    try:
        third, second, first = with_result.newest()
        assert [first.state, second.state, third.state] == ["done", "failed", "waiting"]
        assert second.message == LOST
        assert with_result.result(first.id) is not None
        assert with_result.result(second.id) is None
    finally:
        with_result.close()


def test_a_result_that_was_whole_when_the_server_died_counts(tmp_path: Path) -> None:
    table = JobTable(tmp_path, now=lambda: 1.0)
    table.ask(JobRequest(kind="size", text=""))
    job = table.begin_next()
    assert job is not None
    table.result_path(job.id).write_text("{}", encoding="utf-8")
    table.close()
    again = JobTable(tmp_path, now=lambda: 2.0)
    found = again.find(job.id)
    again.close()
    assert found is not None
    assert found.state == "done"


def test_a_file_of_another_program_is_not_touched(tmp_path: Path) -> None:
    import sqlite3  # noqa: PLC0415

    with sqlite3.connect(tmp_path / "jobs.db") as file:
        file.execute("CREATE TABLE mine (x)")
    file.close()
    before = (tmp_path / "jobs.db").read_bytes()
    with pytest.raises(OutputError):
        JobTable(tmp_path, now=lambda: 1.0)
    assert (tmp_path / "jobs.db").read_bytes() == before


def test_what_is_older_than_is_kept_goes_by_itself_and_what_runs_stays(tmp_path: Path) -> None:
    now = [1000.0]
    table = JobTable(tmp_path, now=lambda: now[0], keep_s=86400.0)
    table.ask(JobRequest(kind="size", text=""))
    job = table.begin_next()
    assert job is not None
    table.result_path(job.id).write_text("{}", encoding="utf-8")
    table.end(job)
    table.ask(JobRequest(kind="size", text=""))
    running = table.begin_next()
    assert running is not None
    now[0] += 86400.0  # not a second older than is kept
    table.ask(JobRequest(kind="size", text=""))
    assert table.result(job.id) is not None
    now[0] += 3600.0
    table.ask(JobRequest(kind="size", text=""))
    assert table.find(job.id) is None
    assert table.result(job.id) is None
    assert table.find(running.id) is not None
    table.close()


def test_a_copy_of_the_folder_has_every_job_and_result(tmp_path: Path) -> None:
    """As docs/serve.md says to back it up while the server runs."""
    table = JobTable(tmp_path / "data", now=lambda: 5.0)
    table.ask(JobRequest(kind="size", text=""))
    job = table.begin_next()
    assert job is not None
    table.result_path(job.id).write_text('{"a": 1}', encoding="utf-8")
    table.end(replace(job, state="done"))
    copy = tmp_path / "copy"
    (copy / "results").mkdir(parents=True)
    with (
        closing(sqlite3.connect(tmp_path / "data" / "jobs.db")) as file,
        closing(sqlite3.connect(copy / "jobs.db")) as to,
    ):
        file.backup(to)
    shutil.copytree(tmp_path / "data" / "results", copy / "results", dirs_exist_ok=True)
    again = JobTable(copy, now=lambda: 6.0)
    found = again.find(job.id)
    assert found is not None
    assert (found.state, again.result(job.id)) == ("done", b'{"a": 1}')
    again.close()
    table.close()


def test_old_jobs_go_with_their_results(table: JobTable) -> None:
    table.ask(JobRequest(kind="size", text=""))
    job = table.begin_next()
    assert job is not None
    table.result_path(job.id).write_text("{}", encoding="utf-8")
    table.end(job)
    assert table.forget(older_than_s=4.0) == 0
    assert table.forget(older_than_s=6.0) == 1
    assert table.result(job.id) is None


def test_short_answers_come_from_one_warm_process() -> None:
    quick = QuickAnswers()
    try:
        first = quick.ask(JobRequest(kind="predict", text=DESIGN))
        wrong = quick.ask(JobRequest(kind="predict", text="cluster: {nodes: -1}"))
        with pytest.raises(SpecError, match="no job is called"):
            quick.ask(JobRequest(kind="watch", text=DESIGN))
    finally:
        quick.close()
    assert first["result"]["gpus"] == 1024
    assert wrong["error"]["kind"] == "spec"


def test_commands_that_can_run_long_are_jobs_by_their_entry() -> None:
    assert {"compare", "plan", "simulate", "whatif", "goodput"} <= set(job_kinds())


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (
            "name: Llama 3.1 405B on 16,384 H100  # Meta's\njob: {model: x}\n",
            "Llama 3.1 405B on 16,384 H100",
        ),
        ('{\n  "name": "mine",\n  "job": {"model": "x"}\n}', "mine"),
        ("name:\ncluster: {gpus: 8}\njob:\n  model: llama-2-7b\n", "llama-2-7b"),
        ("job: {model: llama-2-7b, software: {name: nemo}}", "llama-2-7b"),
        ("cluster: {gpus: 8}", ""),
    ],
)
def test_a_job_is_listed_with_its_scenario(text: str, about: str) -> None:
    request = JobRequest(kind="compare", text=text)
    assert request.about == about
