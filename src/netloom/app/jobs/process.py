"""One worker process: ask it to run a job, follow it, stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from netloom.app.jobs.named_files import NamedFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from netloom.app.jobs.job import JobRequest

__all__ = ["NO_FILES", "WorkerProcess"]

NO_FILES: Final = NamedFiles()
GRACE_S: Final = 5.0  # from asking to SIGTERM, and from there to SIGKILL


class WorkerProcess:
    """A process that runs one job at a time; in a group of its own, so that what it starts ends."""

    def __init__(self, files: NamedFiles = NO_FILES) -> None:
        """Start it and wait until it is ready; scenarios may name *files*."""
        self._files = files
        self._process = subprocess.Popen(
            [sys.executable, "-m", "netloom.app.jobs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._timers: list[threading.Timer] = []
        assert self._process.stdout is not None
        self._process.stdout.readline()

    @property
    def is_alive(self) -> bool:
        """Whether it can run another job."""
        return self._process.poll() is None

    def run(
        self,
        request: JobRequest,
        result: Path,
        *,
        on_progress: Callable[[int, int], None] = lambda *_: None,
    ) -> dict[str, Any] | None:
        """Run a job to its end and return the worker's last word; None where the process died."""
        self._say(
            {
                "run": {
                    "kind": request.kind,
                    "text": request.text,
                    "options": dict(request.options),
                    "result": str(result),
                    "memory_bytes": request.limits.memory_bytes,
                    "files": asdict(self._files),
                }
            }
        )
        said = self._followed(on_progress)
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        return said

    def stop(self) -> None:
        """Ask the job to stop; after 5 s the process is terminated, after 5 s more killed."""
        self._say({"stop": True})
        self.later(GRACE_S, lambda: self._signal(signal.SIGTERM))
        self.later(2 * GRACE_S, lambda: self._signal(signal.SIGKILL))

    def later(self, after_s: float, act: Callable[[], None]) -> None:
        """Do *act* after that time, unless the job has ended by then."""
        timer = threading.Timer(after_s, act)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def end(self) -> None:
        """End the process, whatever it does."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _say(self, value: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it died; its silence says so
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()

    def _followed(self, on_progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "ended" in said:
                return said
            if "done" in said:
                on_progress(said["done"], said["total"])
        self._process.wait()
        return None

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
