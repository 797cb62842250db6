"""Compute tasks on a Dask cluster: one that runs already, or one of this machine.

``dask.distributed`` is not a dependency: it is looked for when asked, and its absence is an
error that says what to do. Dask itself gives the task of a worker that died to another one. An
answer is fetched as soon as it is there and then forgotten by the cluster, so that a later
death makes no other compute it again.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import logging
import queue
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from netloom.errors import OutputError, SpecError
from netloom.study.sweep.release import release
from netloom.study.sweep.task import Done, Task, do

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

__all__ = ["LOCAL", "Dask"]

LOCAL: Final = "local"
CONNECT_S: Final = 30.0
TASKS_PER_THREAD: Final = 2  # one that runs, one that waits for it


class Dask:
    """Runs tasks on the cluster whose scheduler is at *address*; ``local`` starts one here.

    Raises:
        SpecError: ``dask.distributed`` is not installed.
    """

    def __init__(self, address: str, *, num_workers: int) -> None:
        try:
            self._library: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise SpecError(
                option="--dask",
                what="dask is not installed",
                remedy="install it with 'pip install netloom[dask]'",
            ) from error
        self._address = address
        self._num_workers = num_workers
        self._cluster: Any = None
        self._client: Any = None
        self._futures: dict[str, Any] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()

    @property
    def num_slots(self) -> int:
        """Two for each thread of the cluster as it is now, so that no thread waits for us."""
        with self._present():
            threads: dict[str, int] = self._client.nthreads()
        return TASKS_PER_THREAD * max(1, sum(threads.values()))

    def __enter__(self) -> Self:
        try:
            self._connect()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._futures and self._client.status == "running":
            self._client.cancel(list(self._futures.values()))
        self._futures.clear()
        self._close()

    def submit(self, task: Task) -> None:
        """Give the task to the cluster, under its key: two drivers share what both ask."""
        future = self._client.submit(do, task, key=f"netloom-{task.key}", pure=True)
        self._futures[task.key] = future
        future.add_done_callback(lambda _: self._ended.put(task.key))

    def wait(self, timeout_s: float | None) -> Sequence[Done]:
        """Return what is done.

        Raises:
            OutputError: the cluster is gone.
        """
        try:
            keys = [self._ended.get(timeout=timeout_s)]
        except queue.Empty:
            return []
        while not self._ended.empty():
            keys.append(self._ended.get())
        return [self._fetch(key) for key in keys]

    def _fetch(self, key: str) -> Done:
        future = self._futures.pop(key)
        with self._present():
            error = future.exception()
            if error is not None:
                return Done(key=key, error=f"Dask gave it up ({type(error).__name__}: {error})")
            done: Done = future.result()
        future.release()
        return done

    def _connect(self) -> None:
        library, address = self._library, self._address
        if address == LOCAL:
            with _deaf_children():
                self._cluster = library.LocalCluster(
                    n_workers=self._num_workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any free port
                    silence_logs=logging.ERROR,
                )
            address = self._cluster
        try:
            self._client = library.Client(address, timeout=CONNECT_S, set_as_default=False)
            self._client.wait_for_workers(1, timeout=CONNECT_S)
            releases = set(self._client.run(release).values())
        except (OSError, ValueError) as error:
            raise OutputError(
                option="--dask",
                what=f"no Dask cluster with a worker at {self._address} ({error})",
                remedy="check it",
            ) from error
        except ImportError as error:
            raise OutputError(
                option="--dask",
                what=f"a worker lacks netloom ({error})",
                remedy="install it on every worker",
            ) from error
        if releases != {release()}:
            theirs = ", ".join(sorted(releases))
            raise OutputError(
                option="--dask",
                what=f"workers run netloom {theirs}, here {release()}",
                remedy="install the same",
            )

    def _close(self) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                part.close()
        self._client = self._cluster = None

    @contextmanager
    def _present(self) -> Iterator[None]:
        """Explain what goes wrong when the scheduler is lost: futures are then cancelled."""
        try:
            yield
        except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            raise OutputError(
                option="--dask",
                what=f"the cluster at {self._address} is gone",
                remedy="what it finished is in the store, start it and run the same command again",
            ) from error


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Let processes and threads that start meanwhile not hear Ctrl-C, which is for the driver."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
