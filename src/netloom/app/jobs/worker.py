"""A process that runs jobs, one after the other: ``python -m netloom.app.jobs.worker``.

Requests come as lines of JSON on standard input, and what happens goes out as lines of JSON:

    {"run": {"kind", "text", "options", "result", "memory_bytes", "files"}}    or    {"stop": true}
    {"ready": true}   {"done", "total"}   {"ended": "done" | "failed" | "stopped", "partial", ...}

It lives in a process of its own because models are Python, which would make a server late. The
result is a file that appears whole.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final

from netloom.app.jobs.kind import checked_options, job_kind
from netloom.app.jobs.named_files import NamedFiles
from netloom.app.jobs.replays import replay_path
from netloom.errors import NetloomError
from netloom.results.envelope import error_envelope, result_envelope
from netloom.spec.load import parse

if TYPE_CHECKING:
    from netloom.app.jobs.kind import JobFrames

__all__ = ["main"]

GRACE_S: Final = 5.0
MIN_INTERVAL_S: Final = 0.1  # progress is told at most this often


class JobStoppedError(Exception):
    """The job was asked to stop, and has nothing to keep."""


class _Requests:
    """What comes in: runs in order; a stop counts for the one that runs."""

    def __init__(self, lines: IO[str]) -> None:
        self.runs: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self.stop = threading.Event()
        self._lines = lines
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            asked = json.loads(line)
            if "stop" in asked:
                self.stop.set()
            else:
                self.runs.put(asked["run"])
        self.stop.set()  # the server is gone: end with what this job has, and soon
        self.runs.put(None)
        time.sleep(GRACE_S)
        os.killpg(os.getpgrp(), signal.SIGKILL)


class _Progress:
    """Tells how far a job is, now and then, and answers whether it should stop."""

    def __init__(self, tell: IO[str], stop: threading.Event, *, keeps_partial: bool) -> None:
        self._tell, self._stop, self._keeps_partial = tell, stop, keeps_partial
        self._told_s = 0.0

    def __call__(self, done: int, total: int) -> bool:
        if self._stop.is_set() and not self._keeps_partial:
            raise JobStoppedError
        now_s = time.monotonic()
        if now_s - self._told_s >= MIN_INTERVAL_S:
            self._told_s = now_s
            _say(self._tell, {"done": done, "total": total})
        return self._stop.is_set()


def main() -> None:
    """Serve requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    requests = _Requests(sys.stdin)
    _say(out, {"ready": True})
    while (asked := requests.runs.get()) is not None:
        requests.stop.clear()
        with _limited_memory(asked.get("memory_bytes")):
            _say(out, _run(asked, out, requests.stop))


def _run(asked: dict[str, Any], out: IO[str], stop: threading.Event) -> dict[str, Any]:
    name = asked["kind"]
    try:
        kind = job_kind(name)
        options = checked_options(kind, asked["options"])
        progress = _Progress(out, stop, keeps_partial=kind.keeps_partial)
        files = NamedFiles(**asked.get("files", {}))
        scenario = files.found(parse(asked["text"], name="scenario"))
        found = kind.result(scenario, options, progress)
        path = Path(asked["result"])
        _write_frames(replay_path(path), kind.frames_of(found))
        _write_whole(path, result_envelope(name, found.to_json()))
    except JobStoppedError:
        return {"ended": "stopped", "partial": False}
    except (NetloomError, MemoryError, OSError) as error:
        return _failed(name, error, str(error) or "out of memory")
    except Exception as error:  # noqa: BLE001  (a bug in one job must not end the worker)
        return _failed(name, error, f"a bug of netloom: {type(error).__name__}: {error}")
    return {"ended": "stopped" if stop.is_set() else "done", "partial": stop.is_set()}


def _failed(name: str, error: Exception, message: str) -> dict[str, Any]:
    envelope = error_envelope(name, error, message=message)
    return {"ended": "failed", "partial": False, "message": message, "error": envelope}


def _write_whole(path: Path, value: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(value, file, allow_nan=False)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _write_frames(path: Path, frames: JobFrames | None) -> None:
    """Write a line of JSON that says what the frames are, and the frames; nothing of none."""
    if frames is None:
        return
    part = path.with_suffix(".part")
    head = json.dumps(frames.to_json(), allow_nan=False).encode()
    part.write_bytes(head + b"\n" + frames.frames())
    part.replace(path)


def _say(out: IO[str], value: dict[str, Any]) -> None:
    out.write(json.dumps(value) + "\n")
    out.flush()


class _limited_memory:  # noqa: N801  (used as a word: with _limited_memory(...))
    """Bounds the memory that is asked for inside the block; None for no bound."""

    def __init__(self, max_bytes: int | None) -> None:
        self._max_bytes = max_bytes
        self._before = resource.getrlimit(resource.RLIMIT_DATA)

    def __enter__(self) -> None:
        if self._max_bytes is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (self._max_bytes, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, self._before)


if __name__ == "__main__":
    main()
