"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["OnProgress", "counter"]

# Called with how much is done and how much there is; 0 where that is not known.
OnProgress: TypeAlias = Callable[[int, int], object]


def counter(on_progress: OnProgress | None, total: int) -> Callable[..., None]:
    """Return a function ``advance(n=1)`` that tells *on_progress* how much of *total* is done."""
    done = 0

    def advance(num_steps: int = 1) -> None:
        nonlocal done
        done += num_steps
        if on_progress is not None:
            on_progress(done, total)

    return advance
