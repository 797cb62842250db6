"""Work spread over the cores of this machine: one process a core, answers as they come.

Workers are made before anything else starts threads, keep what they learn from one task to the
next, and never outlive the block they were made for.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from netloom.errors import OutputError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["Each", "num_cores", "on_processes"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Each: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[Task, Answer]]]


def num_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def on_processes(
    make: Callable[[], Callable[[Task], Answer]], *, num_workers: int
) -> Iterator[Each[Task, Answer]]:
    """Give a function that yields each task with its answer, in the order they are done.

    Args:
        make: Called once in each worker; what it returns is called with every task.
        num_workers: Processes to start; with one, all is done in this process.

    Raises:
        OutputError: a worker was killed. What a task raises is raised here.
    """
    if num_workers == 1:
        yield lambda tasks: _here(make(), tasks)
        return
    # A forked worker starts in milliseconds; elsewhere than on Linux forking is not safe.
    forks = sys.platform == "linux"
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    workers: dict[Connection[Any, Any], BaseProcess] = {}
    for _ in range(num_workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(make, theirs), daemon=True)
        process.start()
        theirs.close()
        workers[ours] = process
    try:
        yield lambda tasks: _spread(list(workers), tasks)
    finally:
        for connection, process in workers.items():
            process.terminate()
            process.join()
            connection.close()


def _here(work: Callable[[Task], Answer], tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
    for task in tasks:
        yield task, work(task)


def _spread(idle: list[Connection[Any, Any]], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    waiting = list(reversed(tasks))
    busy: dict[Any, Any] = {}
    while waiting or busy:
        while waiting and idle:
            connection, task = idle.pop(), waiting.pop()
            connection.send(task)
            busy[connection] = task
        for ready in wait(list(busy)):
            answer = _received(ready)
            idle.append(ready)  # type: ignore[arg-type]
            yield busy.pop(ready), answer


def _received(connection: Any) -> Any:
    try:
        answer, error = connection.recv()
    except EOFError as gone:
        raise OutputError(
            key="workers",
            what="a worker process was killed, most likely for want of memory",
            remedy="use fewer, such as --workers 1",
        ) from gone
    if error is not None:
        raise error
    return answer


def _serve(make: Callable[[], Callable[[Any], Any]], connection: Connection[Any, Any]) -> None:
    """Answer tasks for as long as the parent lives; Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    work = make()
    while connection in wait([connection, parent.sentinel]):
        try:
            task = connection.recv()
        except EOFError:
            return  # the parent is done
        answer: tuple[Any, Exception | None]
        try:
            answer = (work(task), None)
        except Exception as error:  # noqa: BLE001  (raised again by the parent)
            answer = (None, error)
        connection.send(answer)
