"""A progress bar for whatever takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from netloom.results.progress import OnProgress

__all__ = ["Advance", "progress", "reporting"]

Advance: TypeAlias = Callable[..., None]

QUIET_S: Final = 1.0


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Advance]:
    """Give a function ``advance(n=1)`` that moves a bar on standard error.

    The bar shows the rate and the time left. It appears only on a terminal, only after a second,
    and goes away at the end, so that it never stands among results.

    Args:
        title: What is going on, in a few words.
        total: How many advances make the whole; None when unknown.
    """
    if not sys.stderr.isatty():
        yield _ignore
        return
    with _delayed_bar(title, total) as advance:
        yield advance


@contextmanager
def reporting(title: str) -> Iterator[OnProgress]:
    """Give a function ``on_progress(done, total)`` that moves such a bar; total 0 is not known."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with ExitStack() as stack:
        advance: Advance | None = None
        moved = 0

        def on_progress(done: int, total: int) -> None:
            nonlocal advance, moved
            if advance is None:  # not before: processes are forked before threads start
                advance = stack.enter_context(_delayed_bar(title, total or None))
            advance(done - moved)
            moved = done

        yield on_progress


def _ignore(num_steps: int = 1) -> None:
    """Take note of nothing."""


@contextmanager
def _delayed_bar(title: str, total: int | None) -> Iterator[Advance]:
    from rich import progress as bars  # noqa: PLC0415  (heavy, and needed only on a terminal)
    from rich.console import Console  # noqa: PLC0415

    bar = bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=total, rate="")

    def advance(num_steps: int = 1) -> None:
        bar.advance(task, num_steps)
        speed = bar.tasks[0].speed
        bar.update(task, rate=f"{speed:.3g}/s" if speed else "")

    timer = threading.Timer(QUIET_S, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
