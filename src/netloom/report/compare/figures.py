"""The figures of a comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netloom.report.charts import (
    HUES,
    MONEY,
    PERCENT,
    SECONDS,
    BarPart,
    Bars,
    ChartAxis,
    Plot,
    Rule,
    Series,
    dash_of,
    mark_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.step.model import Step
    from netloom.study.compare.candidate import Candidate

__all__ = [
    "cost_against_speed",
    "latency_budget",
    "scaling",
    "step_ends",
    "time_by_part",
    "where_the_step_goes",
]

# A technology this many times slower or dearer than the best is named beside the plot of cost
# against speed: on one scale with it, all others would be one spot.
FAR = 2.0


def scaling(contenders: Sequence[Candidate]) -> Plot:
    """Return model FLOP utilisation over the number of GPUs, a line a technology."""
    here = contenders[0].network.design.num_gpus
    lines = tuple(
        _mfu_line(contender, index, whole=whole)
        for whole in (False, True)
        for index, contender in enumerate(contenders)
    )
    return Plot(
        x=ChartAxis(title="GPUs", is_log=True),
        y=ChartAxis(title="MFU", unit=PERCENT, from_zero=True),
        series=lines,
        rules=(Rule(x=here, label="this cluster"),),
    )


def _mfu_line(contender: Candidate, index: int, *, whole: bool) -> Series:
    """Return the part of a curve on which the whole model runs, or the faint part before it."""
    points = [point for point in contender.scaling.points if point.whole is whole]
    return Series(
        name=contender.name if whole else f"{contender.name} (cut model)",
        x=tuple(float(point.num_gpus) for point in points),
        y=tuple(100 * point.mfu for point in points),
        hue=index % HUES,
        dash=dash_of(index),
        join="line" if whole else "none",
        mark=mark_of(index),
        hollow=() if whole else (True,) * len(points),
        faint=not whole,
        listed=whole,
    )


def where_the_step_goes(contenders: Sequence[Candidate]) -> Bars:
    """Return the seconds of a step by what they are spent on, a bar a technology."""
    spent = {contender.name: contender.step.breakdown_s() for contender in contenders}
    ranges = [step_ends(contender.step) for contender in contenders]
    return time_by_part(spent, rows="technology", axis="time of a step", ranges=ranges)


def step_ends(step: Step) -> tuple[float, float] | None:
    """Return the ends of a step's error bar; None where it has none."""
    found = step.interval
    return (found.low_s, found.high_s) if found else None


def time_by_part(
    spent_s: Mapping[str, Mapping[str, float]],
    *,
    rows: str,
    axis: str,
    ranges: Sequence[tuple[float, float] | None] = (),
) -> Bars:
    """Return times stacked by what they are spent on, a bar a name; what takes none is left out.

    Args:
        spent_s: The parts of each bar, all bars with the same ones.
        rows: What a bar is.
        axis: What is measured.
        ranges: The ends of each bar's error bar, if it has one.
    """
    times = list(spent_s.values())
    names = [part for part in times[0] if any(one[part] > 0 for one in times)]
    return Bars(
        axis=ChartAxis(title=axis, unit=SECONDS, from_zero=True),
        rows=rows,
        labels=tuple(spent_s),
        parts=tuple(
            BarPart(
                name=name.replace("_", " "),
                values=tuple(float(one[name]) for one in times),
                hue=hue,
            )
            for hue, name in enumerate(names)
        ),
        stacked=True,
        ranges=tuple(ranges),
    )


def cost_against_speed(contenders: Sequence[Candidate]) -> Plot:
    """Return money per trillion tokens over days per trillion tokens, a point a technology."""
    far = _far(contenders)
    near = [contender for contender in contenders if contender not in far]
    days = [contender.days_per_trillion_tokens for contender in near]
    usd = [contender.usd_per_trillion_tokens for contender in near]
    return Plot(
        x=ChartAxis(
            title="days per trillion tokens",
            is_log=True,
            bounds=_around(days) if far else None,
        ),
        y=ChartAxis(
            title="cost per trillion tokens",
            unit=MONEY,
            is_log=True,
            bounds=_around(usd) if far else None,
        ),
        series=tuple(_priced(contender, index) for index, contender in enumerate(contenders)),
        aside=_beside(far) if far else "",
    )


def _priced(contender: Candidate, index: int) -> Series:
    return Series(
        name=contender.name,
        x=(contender.days_per_trillion_tokens,),
        y=(contender.usd_per_trillion_tokens,),
        hue=index % HUES,
        join="none",
        mark=mark_of(index),
        hollow=(contender.technology.status != "shipping",),
    )


def _far(contenders: Sequence[Candidate]) -> list[Candidate]:
    """Return those that would crowd all others, of which there are two or more, into a corner."""
    days = min(contender.days_per_trillion_tokens for contender in contenders)
    usd = min(contender.usd_per_trillion_tokens for contender in contenders)
    far = [
        contender
        for contender in contenders
        if contender.days_per_trillion_tokens > FAR * days
        or contender.usd_per_trillion_tokens > FAR * usd
    ]
    return far if len(contenders) - len(far) > 1 else []


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that holds *values* with some room."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = 0.1 * (high - low) + 0.005
    return 10 ** (low - room), 10 ** (high + room)


def _beside(far: Sequence[Candidate]) -> str:
    """Return the note that names what lies outside the plot."""
    told = (
        f"{contender.name}: {contender.days_per_trillion_tokens:.1f} days, "
        f"{contender.usd_per_trillion_tokens / 1e6:.2f} million USD"
        for contender in far
    )
    return f"Too far off to draw: {'; '.join(told)}."


def latency_budget(contenders: Sequence[Candidate]) -> Bars:
    """Return the one-way latency by component, a bar a technology."""
    names = list(dict.fromkeys(part.name for c in contenders for part in c.latency))
    spent = {
        contender.name: {
            name: sum(item.time_s for item in contender.latency if item.name == name)
            for name in names
        }
        for contender in contenders
    }
    return time_by_part(spent, rows="technology", axis="one-way latency")
