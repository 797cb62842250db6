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
from netloom.formats.log_lines import raw_lines, without_colour
from netloom.study.explain.logged import LoggedSteps, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_megatron_log", "parse_megatron_log"]

MAX_STEP_S: Final = 1e7  # four months: no iteration takes longer
_NUMBERED: Final = re.compile(r"iteration\s{1,20}\d{1,18}\s{0,20}/")
_ITERATION: Final = re.compile(
    r"elapsed time per iteration \((ms|s)\):\s*([0-9.]+(?:[eE][+-]?\d+)?)"
)
_NEMO: Final = re.compile(r"\btrain_step_timing in s:\s*([0-9.]+)")
_TIMER: Final = re.compile(
    r"^\s*([a-z][a-z0-9-]{2,60})\s*\.*:\s*\(\s*([0-9.]+)\s*,\s*([0-9.]+)\s*\)\s*$"
)
_PLAIN_TIMER: Final = re.compile(r"^\s*([a-z][a-z0-9-]{2,60})\s*\.+:\s*([0-9.]+)\s*$")


# With --timing-log-option all a timer is a heading, and each rank a line.
_HEADING: Final = re.compile(r"^\s{1,8}([a-z][a-z0-9-]{2,60}):\s*$")
_RANK: Final = re.compile(r"^\s+rank\s+(\d{1,9}):\s*([0-9.]+)\s*$")


def is_megatron_log(head: str) -> bool:
    """Whether a text has a line of such a log near its beginning."""
    return any(_step_s(without_colour(line)) is not None for line in raw_lines(head))


def parse_megatron_log(lines: Iterable[str], *, name: str = "log") -> LoggedSteps:
    """Return what a log says.

    Raises:
        SpecError: no iteration is in it.
    """
    steps_s: list[float] = []
    timers: dict[str, list[Timer]] = {}
    by_rank: dict[str, dict[int, list[float]]] = {}
    of: str = ""
    for line in raw_lines(lines):
        plain = without_colour(line)
        if (step_s := _step_s(plain)) is not None:
            steps_s.append(step_s)
        elif found := _timer(plain):
            timers.setdefault(found[0], []).append(found[1])
        elif of and (one := _RANK.match(plain)):
            if (time_s := _seconds(one[2], 1e3)) is not None:
                by_rank.setdefault(of, {}).setdefault(int(one[1]), []).append(time_s)
        else:
            heading = _HEADING.match(plain)
            of = heading[1] if heading else ""
    if not steps_s:
        raise SpecError(
            file=name,
            what="has no line with 'elapsed time per iteration'",
            remedy="give the log of rank 0, or of the last rank, which Megatron prints on",
        )
    medians = {name: _median(some) for name, some in timers.items()}
    medians |= {name: _of_ranks(ranks) for name, ranks in by_rank.items()}
    return LoggedSteps(steps_s=tuple(steps_s), timers=medians)


def _step_s(line: str) -> float | None:
    """Return how long an iteration took, where a line says so and it can be."""
    if (found := _ITERATION.search(line)) and _NUMBERED.search(line, 0, found.start()):
        return _seconds(found[2], 1e3 if found[1] == "ms" else 1.0, least=0.0)
    return _seconds(found[1], least=0.0) if (found := _NEMO.search(line)) else None


def _seconds(text: str, divisor: float = 1.0, *, least: float = -1.0) -> float | None:
    try:
        value_s = float(text) / divisor
    except ValueError:
        return None
    return value_s if least < value_s <= MAX_STEP_S else None


def _timer(line: str) -> tuple[str, Timer] | None:
    found = _TIMER.match(line) or _PLAIN_TIMER.match(line)
    if found is None:
        return None
    min_s, max_s = (_seconds(found[number], 1e3) for number in (2, found.re.groups))
    if min_s is None or max_s is None:
        return None
    return found[1], Timer(min_s=min_s, max_s=max_s)


def _of_ranks(ranks: dict[int, list[float]]) -> Timer:
    ranks_s = {rank: median(times_s) for rank, times_s in ranks.items()}
    return Timer(min_s=min(ranks_s.values()), max_s=max(ranks_s.values()), ranks_s=ranks_s)


def _median(some: list[Timer]) -> Timer:
    return Timer(min_s=median(one.min_s for one in some), max_s=median(one.max_s for one in some))
