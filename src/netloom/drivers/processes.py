"""Compute tasks in processes of this machine, one task a process at a time.

Each worker is a fresh interpreter that talks over a socket pair, so that scripts need no
``__main__`` guard. A worker that dies takes only its own task with it, which another one then
does; a driver that dies closes its ends, and its workers end at once.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Self

from netloom.drivers.cores import num_cores
from netloom.study.sweep.task import Done, Task, do

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

__all__ = ["Processes", "serve"]

MAX_DEATHS: Final = 3  # of workers on one task, until it counts as the cause
DYING_S: Final = 5.0  # from closing its socket to being gone
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True, kw_only=True)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    task: Task | None = None


class Processes:
    """Runs tasks in as many processes as there are cores, or as asked for."""

    def __init__(self, num_workers: int | None = None) -> None:
        self._num_workers = num_workers or num_cores()
        self._workers: list[_Worker] = []
        self._deaths: dict[str, int] = {}

    @property
    def num_slots(self) -> int:
        """As many as workers."""
        return self._num_workers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            _end(worker)
        self._workers.clear()

    def submit(self, task: Task) -> None:
        """Give the task to an idle worker, or to a new one."""
        worker = next((worker for worker in self._workers if worker.task is None), None)
        if worker is None:
            assert len(self._workers) < self._num_workers, "no free slot"
            worker = _start()
            self._workers.append(worker)
        worker.task = task
        try:
            worker.connection.send_bytes(pickle.dumps((task.key, pickle.dumps(task))))
        except OSError:
            return  # it died while idle; the next wait finds that out

    def wait(self, timeout_s: float | None) -> Sequence[Done]:
        """Return what is done; tasks of dead workers are begun again."""
        busy = {worker.connection: worker for worker in self._workers if worker.task is not None}
        if not busy:
            time.sleep(timeout_s or 0)
            return []
        done: list[Done] = []
        while not done:
            ready = wait(list(busy), timeout_s)
            if not ready:
                break
            done += [end for connection in ready if (end := self._receive(busy[connection]))]  # type: ignore[index]
            busy = {one.connection: one for one in self._workers if one.task is not None}
        return done

    def _receive(self, worker: _Worker) -> Done | None:
        task = worker.task
        assert task is not None
        try:
            done: Done = pickle.loads(worker.connection.recv_bytes())  # noqa: S301  (our own worker)
        except (EOFError, OSError):
            return self._mourn(worker, task)
        worker.task = None
        self._deaths.pop(task.key, None)
        return done

    def _mourn(self, worker: _Worker, task: Task) -> Done | None:
        """Take a dead worker away; return its task as failed when it keeps killing workers."""
        cause = _cause(_end(worker, grace_s=DYING_S))
        self._workers.remove(worker)
        self._deaths[task.key] = num_deaths = self._deaths.get(task.key, 0) + 1
        if num_deaths < MAX_DEATHS:
            self.submit(task)
            return None
        message = (
            f"its worker died {num_deaths} times, the last time {cause}; if memory ran out, use "
            "fewer workers"
        )
        return Done(key=task.key, error=message)


def serve(descriptor: int) -> None:
    """Do the tasks that come in at *descriptor*, until the other end is closed."""
    connection = Connection(descriptor)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, inbox), daemon=True).start()
    while True:
        key, packed = pickle.loads(inbox.get())  # noqa: S301  (our own driver)
        connection.send_bytes(pickle.dumps(_unpacked(key, packed)))


def _unpacked(key: str, packed: bytes) -> Done:
    try:
        task: Task = pickle.loads(packed)  # noqa: S301  (our own driver)
    except (ImportError, AttributeError) as error:
        return Done(key=key, error=f"a worker cannot find what is asked ({error}); install it")
    return do(task)


def _listen(connection: Connection, inbox: SimpleQueue[bytes]) -> None:
    """Pass tasks on; end the process, task or no task, when the driver is gone."""
    try:
        while True:
            inbox.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _start() -> _Worker:
    ours, theirs = Pipe()
    descriptor = theirs.fileno()
    code = f"from netloom.drivers.processes import serve; serve({descriptor})"
    # One thread each: the workers share the cores already. The path, since a function that is
    # asked is looked up by name.
    path = os.pathsep.join(entry or str(os.getcwd()) for entry in sys.path)  # noqa: PTH109
    environment = dict.fromkeys(_THREADS, "1") | os.environ | {"PYTHONPATH": path}
    process = subprocess.Popen(  # noqa: S603  (ourselves)
        [sys.executable, "-P", "-c", code],
        pass_fds=[descriptor],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the driver, which then ends its workers
    )
    theirs.close()
    return _Worker(process=process, connection=ours)


def _end(worker: _Worker, *, grace_s: float = 0.0) -> int:
    """Return the exit code of a worker, which is ended if it does not end by itself."""
    try:
        code = worker.process.wait(grace_s)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        code = worker.process.wait()
    worker.connection.close()
    return code


def _cause(code: int) -> str:
    return f"of {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
