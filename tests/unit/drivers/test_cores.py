"""Work spread over processes."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from netloom.drivers.cores import num_cores, on_processes
from netloom.errors import InfeasibleError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable


def squares(factor: int = 1) -> Callable[[int], int]:
    return lambda number: factor * number**2


def refusing() -> Callable[[int], int]:
    def work(number: int) -> int:
        message = f"{number}: cannot be; take another"
        raise InfeasibleError(message)

    return work


def dying() -> Callable[[int], int]:
    def work(_: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    return work


def identity() -> Callable[[int], int]:
    return lambda _: os.getpid()


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_every_task_is_answered_once_whatever_the_number_of_workers(num_workers: int) -> None:
    with on_processes(partial(squares, 2), num_workers=num_workers) as each:
        assert dict(each(range(7))) == {number: 2 * number**2 for number in range(7)}


def test_one_worker_is_this_process() -> None:
    with on_processes(identity, num_workers=1) as each:
        assert dict(each([0])) == {0: os.getpid()}


def test_what_a_task_raises_is_raised_here() -> None:
    with (
        on_processes(refusing, num_workers=2) as each,
        pytest.raises(InfeasibleError, match="3: cannot be"),
    ):
        list(each([3]))


def test_a_worker_that_is_killed_is_reported_with_a_remedy() -> None:
    with (
        on_processes(dying, num_workers=2) as each,
        pytest.raises(OutputError, match="--workers 1"),
    ):
        list(each([1, 2]))


def test_no_worker_outlives_an_interruption() -> None:
    found: list[int] = []

    def interrupted() -> None:
        with on_processes(identity, num_workers=2) as each:
            found.append(next(each(range(4)))[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert found[0] != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(found[0], 0)


def test_this_machine_has_a_core() -> None:
    assert num_cores() >= 1
