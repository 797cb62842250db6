"""Which collective a table of nccl-tests is of, where nothing around it says so.

Programs before version 2.17 do not name themselves. Bus bandwidth over algorithm bandwidth is
2(n-1)/n for an all-reduce, (n-1)/n for a gathering, scattering or exchanging collective, and 1 for
the others (nccl-tests, ``doc/PERFORMANCE.md``); the columns ``redop`` and ``root`` part the rest,
but for all-gather and all-to-all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.formats.benchmarks.results import CollectiveTiming

__all__ = ["deduced_collective"]

MIN_RATE_BPS: Final = 8e9  # below 1 GB/s two decimals do not tell 1 from 7/8
ROUNDING_BPS: Final = 0.005 * 8e9

# How often (n-1)/n of the bytes cross (0: all of them once), whether it reduces, has a root.
_FORMS: Final = {
    "all_reduce": (2, True, False),
    "reduce_scatter": (1, True, False),
    "all_gather": (1, False, False),
    "all_to_all": (1, False, False),
    "reduce": (0, True, True),
    "broadcast": (0, False, True),
    "send_recv": (0, None, False),
}


def deduced_collective(
    timings: Iterable[CollectiveTiming], *, num_ranks: int, rooted: bool | None
) -> str:
    """Return the one collective that the rows can be of; empty where there are several.

    Args:
        timings: The rows of one test.
        num_ranks: That took part; 0 where it is not known.
        rooted: Whether the column ``root`` names one; None without such a column.
    """
    largest = max(timings, key=lambda one: one.bus_bps or 0.0, default=None)
    if largest is None or num_ranks < 2:
        return ""
    bus_bps, algorithm_bps = largest.bus_bps or 0.0, largest.algorithm_bps or 0.0
    if min(bus_bps, algorithm_bps) < MIN_RATE_BPS:
        return ""
    reduces = largest.redop not in {"none", ""}
    fitting = [
        name
        for name, (rounds, with_redop, with_root) in _FORMS.items()
        if _fits(bus_bps, algorithm_bps, _factor(rounds, num_ranks))
        and with_redop in {None, reduces}
        and rooted in {None, with_root}
    ]
    return fitting[0] if len(fitting) == 1 else ""


def _factor(rounds: int, num_ranks: int) -> float:
    return rounds * (num_ranks - 1) / num_ranks if rounds else 1.0


def _fits(bus_bps: float, algorithm_bps: float, factor: float) -> bool:
    slack_bps = ROUNDING_BPS * (1 + factor) + 1e-3 * bus_bps
    return abs(bus_bps - factor * algorithm_bps) <= slack_bps
