"""Which command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["run_as", "running"]

_running: Final[ContextVar[str]] = ContextVar("running", default="")


def running() -> str:
    """Return the full name of the command that runs; empty outside of one."""
    return _running.get()


@contextmanager
def run_as(command: str) -> Iterator[None]:
    """Let what is printed inside belong to *command*."""
    token = _running.set(command)
    try:
        yield
    finally:
        _running.reset(token)
