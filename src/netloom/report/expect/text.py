"""What nccl-tests should show, as text: the sizes, a plot, and what is wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.report.scatter import Mark, scatter
from netloom.study.expect.spread import SHARE

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType

    from netloom.study.expect.diagnosis import Diagnosis
    from netloom.study.expect.expectation import Expectation, ExpectedCurve

__all__ = [
    "binary_size",
    "cause_rows",
    "expectation_text",
    "headings",
    "headline",
    "range_notes",
    "rate",
    "size_rows",
    "summary",
    "title",
    "verdict_lines",
]

HEADINGS: Final = ("size", "time us", "algbw", "busbw", "interval", "runs", "range")
MEASURED: Final = ("measured", "share", "wanted", "")
_LEFT: Final = frozenset({"runs", "range", ""})
_AT_LEAST_LIKELY: Final = 0.8
_HIDDEN: Final = ("time us", "algbw", "interval")  # beside measured values, to fit 80 columns
_MAX_CAUSES: Final = 4
_LIKELY: Final = 0.01
_SURE: Final = 0.99
_FEW, _MANY = 10, 1000


def expectation_text(found: Expectation) -> RenderableType:
    """Return what ``netloom expect`` prints."""
    parts: list[RenderableType] = [Text(headline(found), style="bold"), Text(_units(), style="dim")]
    for curve in found.curves:
        parts += ["", *_curve(curve)]
    return Group(*parts)


def headline(found: Expectation) -> str:
    """Return on what it is."""
    name = found.scenario.name or found.network.node.name
    nodes = found.network.design.num_nodes
    return (
        f"{name}: {nodes:,} x {found.network.node.name}, {found.network.technology.name}"
        if found.scenario.name
        else f"{nodes:,} x {name}, {found.network.technology.name}"
    )


def _units() -> str:
    return f"GB/s as nccl-tests counts; the interval is to hold {SHARE:.0%} of measured values"


def title(curve: ExpectedCurve) -> str:
    """Return which test it is."""
    group = curve.run.group
    nodes = "1 node" if group.num_nodes == 1 else f"{group.num_nodes:,} nodes"
    log = f", {curve.log}" if curve.log else ""
    return f"{curve.run.kind.value} on {group.size:,} ranks, {nodes}{log}"


def _curve(curve: ExpectedCurve) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(title(curve), style="bold"), _table(curve)]
    parts += [Text(note, style="dim") for note in range_notes(curve)]
    parts += [Text(note, style="yellow") for note in curve.notes]
    if len(curve.points) > 1:
        parts += ["", *(Text(line) for line in _plot(curve))]
    if curve.diagnosis is not None:
        style = "green" if curve.diagnosis.verdict == "as expected" else "red"
        parts += ["", Text(summary(curve), style=style)]
        parts += [Text(line) for line in verdict_lines(curve.diagnosis)]
    return parts


def headings(curve: ExpectedCurve) -> tuple[str, ...]:
    """Return the headings of the table of sizes."""
    return (*HEADINGS, *MEASURED) if curve.measured else HEADINGS


def size_rows(curve: ExpectedCurve) -> list[tuple[str, ...]]:
    """Return the cells of the table of sizes; a reason to be outside is a number behind it."""
    numbers = {reason: number for number, reason in enumerate(curve.reasons, start=1)}
    rows = []
    for index, point in enumerate(curve.points):
        where = "inside" if point.inside else f"out ({numbers[point.reason]})"
        row = (
            binary_size(point.size_bytes),
            f"{point.time_s * 1e6:,.1f}",
            rate(point.algorithm_gbps),
            rate(point.bus_gbps),
            f"{rate(point.low_gbps)}-{rate(point.high_gbps)}",
            f"{point.algorithm} {point.protocol}",
            where,
        )
        rows.append((*row, *_measured_cells(curve, index)))
    return rows


def _measured_cells(curve: ExpectedCurve, index: int) -> tuple[str, ...]:
    if not curve.measured:
        return ()
    got, want = curve.measured[index], curve.points[index]
    mark = "below" if got.bus_gbps < want.low_gbps else ""
    if got.bus_gbps > want.high_gbps:
        mark = "above"
    mark = "dip" if got.dip else mark
    wanted = f"{100 * want.low_gbps / want.bus_gbps:.0f}-{want.high_gbps / want.bus_gbps:.0%}"
    return rate(got.bus_gbps), f"{got.bus_gbps / want.bus_gbps:.0%}", wanted, mark


def range_notes(curve: ExpectedCurve) -> list[str]:
    """Return why sizes are outside what was validated."""
    return [f"({number}) {reason}" for number, reason in enumerate(curve.reasons, start=1)]


def _table(curve: ExpectedCurve) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = headings(curve)
    hidden = _HIDDEN if curve.measured else ()
    for heading in names:
        if heading not in hidden:
            justify: JustifyMethod = "left" if heading in _LEFT else "right"
            table.add_column(heading, justify=justify, no_wrap=True)
    for row in size_rows(curve):
        cells = [cell for cell, head in zip(row, names, strict=True) if head not in hidden]
        table.add_row(*cells, style="red" if row[-1] == "below" else "")
    return table


def _plot(curve: ExpectedCurve) -> list[str]:
    marks = [_mark(one.size_bytes, one.low_gbps, "-") for one in curve.points]
    marks += [_mark(one.size_bytes, one.high_gbps, "-") for one in curve.points]
    marks += [_mark(one.size_bytes, one.bus_gbps, "o") for one in curve.points]
    marks += [_mark(one.size_bytes, one.bus_gbps, "x") for one in curve.measured]
    said = "o expected, - interval" + (", x measured" if curve.measured else "")
    lines = scatter(
        marks,
        show_x=lambda value: binary_size(2.0 ** round(value)),
        show_y=lambda value: f"{rate(10**value)} GB/s",
    )
    return [f"busbw against size, both logarithmic: {said}", *lines]


def _mark(size_bytes: float, gbps: float, mark: str) -> Mark:
    return Mark(math.log2(size_bytes), math.log10(gbps), mark)


def summary(curve: ExpectedCurve) -> str:
    """Return the verdict in a sentence."""
    found = curve.diagnosis
    assert found is not None, curve
    below = f"{len(found.below)} of {len(curve.measured)} sizes are below the interval"
    if found.verdict == "as expected":
        return f"As expected: {below}, as chance and the model's own error allow."
    named = found.named
    if named is None:
        why = "and no known cause fits" if "unknown" in found.verdict else "and several causes fit"
        return f"{found.verdict.capitalize()}: {below}, {why}."
    sure = named.says or f"probability {_probability(named.probability)}"
    how = f" ({named.how})" if named.how else ""
    said = (
        "The cause"
        if named.says
        else "Likely cause"
        if named.probability >= _AT_LEAST_LIKELY
        else "Possible cause"
    )
    return f"{said}: {named.title}{how}; {sure}; {below}."


def verdict_lines(found: Diagnosis) -> list[str]:
    """Return what to do, what it is worth, and what else it may be."""
    if found.verdict == "as expected":
        return []
    lines = []
    if found.named is not None:
        lines.append(f"Check: {found.named.remedy}.")
    if found.worth_bytes is not None and found.worth_gbps and found.measured_gbps:
        lines.append(
            f"Worth: {rate(found.worth_gbps)} GB/s are expected at "
            f"{binary_size(found.worth_bytes)}, {rate(found.measured_gbps)} were measured "
            f"({_times(found.worth_gbps / found.measured_gbps)})."
        )
    if found.ratio_designed is not None and not (found.named and found.named.says):
        than = f"{_times(found.ratio_designed)} likelier than a network as designed"
        other = "" if found.ratio_next is None else f", {_times(found.ratio_next)} than the next"
        lines.append(f"The curve is {than}{other}.")
    others = [", ".join(row[:2]) for row in cause_rows(found)[found.named is not None :]]
    if others:
        lines.append(f"{'Else' if found.named else 'It may be'}: {'; '.join(others)}.")
    if found.verdict == "cause unclear":
        lines.append("A log of NCCL_DEBUG=INFO beside it (--against) tells most of them apart.")
    return lines


def cause_rows(found: Diagnosis) -> list[tuple[str, ...]]:
    """Return the causes that were weighed: what, how likely, how far off, what the log says."""
    kept = [one for one in found.causes if one.probability >= _LIKELY or one is found.named]
    return [
        (
            f"{one.title} ({one.how})" if one.how else one.title,
            _probability(one.probability),
            "" if one.error_pct is None else f"{one.error_pct:.0f} %",
            one.says,
        )
        for one in kept[:_MAX_CAUSES]
    ]


def _probability(value: float) -> str:
    return "over 99 %" if value > _SURE else f"{value:.0%}".replace("%", " %")


def _times(ratio: float) -> str:
    if ratio > _MANY:
        return f"over {_MANY:,} times"
    return f"{ratio:,.0f} times" if ratio >= _FEW else f"{ratio:.2g} times"


def rate(gbps: float) -> str:
    """Return GB/s in three digits."""
    return f"{gbps:.3g}" if gbps < 1000 else f"{gbps:,.0f}"


def binary_size(size_bytes: float) -> str:
    """Return a size as nccl-tests' users say it: 64 KiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.4g} {unit}"
    return f"{size_bytes:g} B"
