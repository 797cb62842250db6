"""A question for tests: it takes a while, and writes down each time that it is asked."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from netloom.errors import InfeasibleError
from netloom.spec.strict import Strict
from netloom.study.sweep.question import SweepQuestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.study.sweep.question import SweepRequest

SCENARIO: dict[str, Any] = {
    "cluster": {"nodes": 4},
    "job": {"model": "gpt-2-1.5b", "training": {"global_batch": 64}},
}


class Options(Strict):
    """Where to write, and how to behave."""

    log: str = ""
    nap_ms: int = 0
    refuse: tuple[int, ...] = Field(default=(), description="Seeds without an answer")
    die: tuple[int, ...] = Field(default=(), description="Seeds that kill their process")


def ask(asked: SweepRequest) -> dict[str, Any]:
    """Note the start, nap, note the end; the answer is a function of seed and nodes."""
    options, seed = asked.options, asked.seed
    assert isinstance(options, Options)
    assert seed is not None
    note(options, "start", seed)
    time.sleep(options.nap_ms / 1e3)
    if seed in options.die:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed in options.refuse:
        message = f"seed {seed}: has no answer; ask another"
        raise InfeasibleError(message)
    note(options, "end", seed)
    nodes = asked.scenario.cluster.nodes or 0
    return {"value_s": float(nodes * 10 + seed), "part_bytes": {"one": seed}, "text": "x"}


def note(options: Options, what: str, seed: int) -> None:
    if options.log:
        handle = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(handle, f"{what} {seed} {os.getpid()}\n".encode())  # one write: never torn
        os.close(handle)


QUESTION = SweepQuestion(ask=ask, shown=("value_s",), seeded=True, options=Options)
QUESTIONS = {"count": QUESTION}


def sweep_of(folder: Path, *, num_seeds: int, nap_ms: int = 0, **options: object) -> dict[str, Any]:
    """Return a sweep over seeds whose log is in *folder*."""
    return {
        "base": SCENARIO,
        "question": "count",
        "options": {"log": str(folder / "log"), "nap_ms": nap_ms, **options},
        "grid": {"seed": {"from": 0, "count": num_seeds}},
    }


@contextmanager
def driver_of(folder: Path, asked: dict[str, Any], *dask: str) -> Iterator[subprocess.Popen[str]]:
    """Give a driver in a process of its own, which does not outlive the block."""
    file = folder / "sweep.json"
    file.write_text(json.dumps(asked))
    script = str(Path(__file__).with_name("sweep_driver.py"))
    driver = subprocess.Popen(  # noqa: S603  (ourselves)
        [sys.executable, script, str(file), str(folder / "store.db"), *dask],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with driver:
        try:
            yield driver
        finally:
            driver.kill()


def events(folder: Path) -> list[tuple[str, int, int]]:
    """Return what was noted: start or end, seed, process."""
    path = folder / "log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(what, int(seed), int(pid)) for what, seed, pid in map(str.split, lines)]


def starts(folder: Path) -> Counter[int]:
    """Return how often each seed was begun."""
    return Counter(seed for what, seed, _ in events(folder) if what == "start")


def running(folder: Path) -> dict[int, int]:
    """Return the process of each seed that was begun and has not ended."""
    processes: dict[int, int] = {}
    for what, seed, pid in events(folder):
        if what == "start":
            processes[seed] = pid
        else:
            processes.pop(seed, None)
    return processes


def stored(store: Path) -> set[int]:
    """Return the seeds that have an answer in the store."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as database:
        try:
            return {seed for (seed,) in database.execute("SELECT seed FROM results")}
        except sqlite3.OperationalError:  # not yet made
            return set()


def one_that_runs(folder: Path, *, timeout_s: float = 300) -> tuple[int, int]:
    """Return the seed and the process of something that is being computed."""
    end_s = time.monotonic() + timeout_s
    while not (found := running(folder)):
        assert time.monotonic() < end_s, "nothing runs"
        time.sleep(0.01)
    return next(iter(found.items()))


def wait_until_stored(store: Path, num: int, *, timeout_s: float = 300) -> set[int]:
    """Return the seeds with an answer, once they are *num* or more."""
    end_s = time.monotonic() + timeout_s
    while len(found := stored(store)) < num:
        assert time.monotonic() < end_s, f"only {len(found)} of {num} answers in {timeout_s} s"
        time.sleep(0.02)
    return found


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_gone(processes: set[int], *, timeout_s: float = 300) -> None:
    """Wait until none of the processes is left."""
    end_s = time.monotonic() + timeout_s
    while alive := sorted(filter(is_alive, processes)):
        assert time.monotonic() < end_s, f"{alive} live on"
        time.sleep(0.02)
