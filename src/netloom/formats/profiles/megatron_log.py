"""Logs of Megatron-LM, NeMo and Megatron-Bridge: the time of an iteration, and its timers.

Iteration lines hold ``elapsed time per iteration (ms): 9100.1``; timers, which ``--timing-log-level
1`` or ``2`` prints every ``--log-interval`` iterations, follow as ``forward-compute ....: (8000.1,
8040.3)``, the least and the most of all ranks, each the sum since the last log of ``log_interval``
iterations divided by their number.
"""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.study.explain.logged import LoggedSteps, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_megatron_log", "parse_megatron_log"]

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ITERATION: Final = re.compile(
    r"iteration\s+(\d+)\s*/.*?elapsed time per iteration \((ms|s)\):\s*([0-9.]+(?:[eE][+-]?\d+)?)"
)
_NEMO: Final = re.compile(r"\btrain_step_timing in s:\s*([0-9.]+)")
_TIMER: Final = re.compile(
    r"^\s*([a-z][a-z0-9-]{2,60})\s*\.*:\s*\(\s*([0-9.]+)\s*,\s*([0-9.]+)\s*\)\s*$"
)
_PLAIN_TIMER: Final = re.compile(r"^\s*([a-z][a-z0-9-]{2,60})\s*\.+:\s*([0-9.]+)\s*$")


def is_megatron_log(head: str) -> bool:
    """Whether a text has a line of such a log near its beginning."""
    plain = _COLOUR.sub("", head)
    return bool(_ITERATION.search(plain) or _NEMO.search(plain))


def parse_megatron_log(lines: Iterable[str], *, name: str = "log") -> LoggedSteps:
    """Return what a log says.

    Raises:
        SpecError: no iteration is in it.
    """
    steps_s: list[float] = []
    timers: dict[str, list[Timer]] = {}
    for line in lines:
        plain = _COLOUR.sub("", line)
        if (step_s := _step_s(plain)) is not None:
            steps_s.append(step_s)
        elif found := _timer(plain):
            timers.setdefault(found[0], []).append(found[1])
    if not steps_s:
        raise SpecError(
            file=name,
            what="has no line with 'elapsed time per iteration'",
            remedy="give the log of rank 0, or of the last rank, which Megatron prints on",
        )
    return LoggedSteps(steps_s=tuple(steps_s), timers={k: _median(v) for k, v in timers.items()})


def _step_s(line: str) -> float | None:
    try:
        if found := _ITERATION.search(line):
            return float(found[3]) / (1e3 if found[2] == "ms" else 1.0)
        if found := _NEMO.search(line):
            return float(found[1])
    except ValueError:
        return None
    return None


def _timer(line: str) -> tuple[str, Timer] | None:
    try:
        if found := _TIMER.match(line):
            return found[1], Timer(min_s=float(found[2]) / 1e3, max_s=float(found[3]) / 1e3)
        if found := _PLAIN_TIMER.match(line):
            same_s = float(found[2]) / 1e3
            return found[1], Timer(min_s=same_s, max_s=same_s)
    except ValueError:
        return None
    return None


def _median(some: list[Timer]) -> Timer:
    return Timer(min_s=median(one.min_s for one in some), max_s=median(one.max_s for one in some))
