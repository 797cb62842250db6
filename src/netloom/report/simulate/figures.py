"""The figures of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.report.charts import (
    BYTES,
    COUNT,
    HUES,
    PERCENT,
    SECONDS,
    Block,
    Cell,
    ChartAxis,
    Heat,
    Plot,
    Series,
    dash_of,
    mark_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netloom.report.charts import Unit
    from netloom.study.simulate.simulation import Simulation

__all__ = ["fct_cdf", "over_time", "paused_links", "slowdown_by_size", "utilisation_map"]

MAX_POINTS: Final = 500
MAX_CURVES: Final = 13
MAX_LINES: Final = 8
MAX_LINKS: Final = 2000
WIDE: Final = 20  # ends of an axis this many times apart make it logarithmic
_S_PER_PS: Final = 1e-12


def fct_cdf(found: Simulation) -> Plot:
    """Return the share of transfers that ended within a time, a line a piece of traffic.

    Of all that have started: where a run was stopped, the line ends at the share that had ended.
    """
    lines, ends = [], [np.inf, 0.0]
    for number, (name, jobs) in enumerate(_lines(found.jobs)):
        times = [run.fct_s[np.isin(run.transfers.job[run.done], jobs)] for run in found.runs]
        started = [
            run.delivery.start_ps[np.isin(run.transfers.job, jobs)] >= 0 for run in found.runs
        ]
        ordered = np.sort(np.concatenate(times))
        if len(ordered):
            num_started = int(np.count_nonzero(np.concatenate(started)))
            lines.append(_cdf_line(name, ordered, num_started, number))
            ends = [min(ends[0], float(ordered[0])), max(ends[1], float(ordered[-1]))]
    wide = ends[0] > 0 and ends[1] > WIDE * ends[0]
    return Plot(
        x=ChartAxis(title="completion time", unit=SECONDS, is_log=wide, from_zero=not wide),
        y=ChartAxis(title="transfers that have ended", unit=PERCENT, bounds=(0.0, 101.0)),
        series=tuple(lines),
    )


def _lines(jobs: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return the pieces of traffic that have a line each, the last of too many together."""
    lines = [(name, [number]) for number, name in enumerate(jobs)]
    if len(lines) <= MAX_CURVES:
        return lines
    own = MAX_CURVES - 1
    return [*lines[:own], (f"{len(jobs) - own} others", list(range(own, len(jobs))))]


def _cdf_line(name: str, ordered: NDArray[np.float64], num_started: int, number: int) -> Series:
    share = 100 * np.arange(1, len(ordered) + 1) / num_started
    keep = np.unique(np.linspace(0, len(ordered) - 1, MAX_POINTS).astype(np.int64))
    return Series(
        name=name,
        x=(float(ordered[0]), *ordered[keep].tolist()),
        y=(0.0, *share[keep].tolist()),
        hue=number % HUES,
        dash=dash_of(number),
        join="step",
    )


def slowdown_by_size(found: Simulation) -> Plot:
    """Return median and tail of the slowdown over flow size."""
    rows = found.by_size()
    wide = bool(rows) and rows[-1]["up_to_bytes"] > WIDE * rows[0]["up_to_bytes"]
    names = (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"))
    return Plot(
        x=ChartAxis(title="flow size (up to)", unit=BYTES, is_log=wide, from_zero=not wide),
        y=ChartAxis(title="slowdown", from_zero=True),
        series=tuple(
            Series(
                name=name,
                x=tuple(float(row["up_to_bytes"]) for row in rows),
                y=tuple(float(row[key]) for row in rows),
                hue=number,
                mark=mark_of(number),
            )
            for number, (key, name) in enumerate(names)
        ),
    )


def utilisation_map(found: Simulation) -> Heat:
    """Return every link as a square, a block for each pair of tiers, the busiest first.

    Of very many links evenly spaced ones are drawn.
    """
    share, tiers = found.utilisation(), found.grid.tiers()
    names = sorted(set(tiers.tolist()), key=lambda name: (-int((tiers == name).sum()), name))
    blocks = []
    for name in names:
        links = np.flatnonzero(tiers == name)
        shown = links[np.argsort(-share[links], kind="stable")]
        keep = shown[np.unique(np.linspace(0, len(shown) - 1, MAX_LINKS // len(names)).astype(int))]
        percent = (100 * share[keep]).round(2).tolist()
        cells = zip(percent, (found.grid.link(number) for number in keep.tolist()), strict=True)
        blocks.append(Block(label=name, cells=tuple(Cell(*one) for one in cells), total=len(links)))
    return Heat(blocks=tuple(blocks), what="utilisation of the links")


def over_time(
    found: Simulation,
    table: Mapping[str, NDArray[Any]],
    *,
    value: str,
    axis: str,
    unit: Unit,
    scale: float = 1,
) -> Plot:
    """Return *value* of the links with the highest peaks over time, a line each.

    Args:
        found: Gives the links' names.
        table: Columns ``link``, a time (``from_ps`` or ``when_ps``) and *value*.
        value: Which column.
        axis: What it is.
        unit: What it is in.
        scale: The column's numbers times this are in that unit.
    """
    time = table["from_ps"] if "from_ps" in table else table["when_ps"]
    first_ps = found.first.delivery.start_ps.min(initial=int(time[0]))
    link, height = table["link"].astype(np.int64), table[value].astype(np.float64)
    peak = np.zeros(len(found.grid.link_source))
    np.maximum.at(peak, link, height)
    total = np.bincount(link, height, minlength=len(peak))
    # Where many reach the same height, those that stay there.
    chosen = np.lexsort((-total, -(peak / max(peak.max(), 1e-300)).round(3)))[:MAX_LINES]
    lines = []
    for number, link in enumerate(chosen[peak[chosen] > 0].tolist()):
        mine = np.flatnonzero(table["link"] == link)
        lines.append(
            Series(
                name=found.grid.link(link),
                x=tuple(((time[mine] - first_ps) * _S_PER_PS).tolist()),
                y=tuple((table[value][mine].astype(np.float64) * scale).round(4).tolist()),
                hue=number % HUES,
                dash=dash_of(number),
            )
        )
    return _timed(lines, axis, unit)


def _timed(lines: Sequence[Series], axis: str, unit: Unit) -> Plot:
    return Plot(
        x=ChartAxis(title="time since the first start", unit=SECONDS),
        y=ChartAxis(title=axis, unit=unit, from_zero=True),
        series=tuple(lines),
    )


def paused_links(found: Simulation, table: Mapping[str, NDArray[Any]]) -> Plot:
    """Return how many links were paused at a time, a line for each pair of tiers."""
    tiers = found.grid.tiers()[table["link"].astype(np.int64)]
    first_ps = found.first.delivery.start_ps.min(initial=int(table["begin_ps"].min()))
    last_ps = found.first.delivery.simulated_ps
    lines = []
    for number, name in enumerate(sorted(set(tiers.tolist()))):
        mine = tiers == name
        begin = table["begin_ps"][mine].astype(np.int64)
        end = np.where(table["end_ps"][mine] < 0, last_ps, table["end_ps"][mine])
        when, step = _links_held(table["link"][mine].astype(np.int64), begin, end)
        order = np.argsort(when, kind="stable")
        held = np.cumsum(step[order])
        lines.append(
            Series(
                name=name,
                x=(0.0, *((when[order] - first_ps) * _S_PER_PS).tolist()),
                y=(0.0, *held.astype(np.float64).tolist()),
                hue=number % HUES,
                dash=dash_of(number),
                join="step",
            )
        )
    return _timed(lines, "links paused", COUNT)


def _links_held(
    link: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when a link begins (1) or ceases (-1) to be paused, in however many priorities."""
    when = np.concatenate([begin, end])
    step = np.repeat([1, -1], [len(begin), len(end)])
    order = np.lexsort((-step, when, np.concatenate([link, link])))
    when, step = when[order], step[order]
    held = np.cumsum(step)  # each link's steps add up to 0
    turns = (held - step == 0) | (held == 0)
    return when[turns], step[turns]
