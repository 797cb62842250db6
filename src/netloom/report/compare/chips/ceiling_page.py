"""One self-contained HTML page: where RoCEv2 stops scaling, and what moves it most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import (
    BYTES,
    COUNT,
    GREY,
    HUES,
    PERCENT,
    PLAIN,
    BarPart,
    Bars,
    ChartAxis,
    Figure,
    Plot,
    Rule,
    Series,
    dash_of,
    mark_of,
)
from netloom.report.compare.chips.ceiling_text import (
    REACH_HEADINGS,
    broken_by,
    ceiling_lines,
    reach_row,
)
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Item, Listing, Page, doubts_fold
from netloom.study.compare.chips.ceiling import BEARABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.compare.chips.ceiling import Ceiling, ChipReach
    from netloom.study.compare.chips.knobs import KnobPoint, KnobSweep

__all__ = ["ceiling_page"]

TITLE: Final = "Where RoCEv2 with PFC and DCQCN stops scaling"
_MOST_LINES: Final = 7
_LOG_KNOBS: Final = (
    *("buffer", "voq-buffer", "radix", "queue-pairs"),
    *("credit-buffer", "credit-size", "cell-size"),
)


def ceiling_page(found: Ceiling) -> str:
    """Return the page as one string of HTML."""
    first, second = ceiling_lines(found)
    doubts = dict.fromkeys(d for one in found.compared.ranked for d in one.validity.doubts)
    return render(
        Page(
            title=f"{TITLE}, and which single change moves it most",
            subtitle=f"{found.compared.title}. {found.compared.subtitle}",
            answer=AnswerBox(
                headline=first,
                lines=(second,),
                reasons=broken_by(found),
                folds=doubts_fold(tuple(doubts)),
            ),
            sections=(
                Gallery(figures=(_scaling(found), _reaches(found))),
                Gallery(figures=(_incasts(found), _borne(found))),
                Gallery(figures=tuple(_knob(sweep) for sweep in found.sweeps)),
                Gallery(figures=(_losses(found),), tables=(_headroom(found),)),
                HtmlTable(
                    title="Every chip",
                    caption="90% to GPUs: up to how many the job keeps 90 % of its efficiency, by "
                    "the closed form. incast borne: senders to one beside which an innocent flow "
                    f"takes less than {BEARABLE:g} times its own time, by packets. paths: slowest "
                    "flow of a permutation alone over in company.",
                    headings=REACH_HEADINGS,
                    rows=[reach_row(one, found) for one in found.reaches],
                    marked=frozenset(
                        row
                        for row, one in enumerate(found.reaches)
                        if one in (found.baseline, found.best_single)
                    ),
                ),
                _reading(),
            ),
        )
    )


def _drawn(found: Ceiling) -> list[ChipReach]:
    """Return the chips that get a line: RoCEv2, single changes that differ, a few redesigns."""
    picked = [found.baseline]
    seen = {found.baseline.limit_gpus}
    for one in found.reaches:
        if one.is_single and one.limit_gpus not in seen and len(picked) < _MOST_LINES - 2:
            picked.append(one)
            seen.add(one.limit_gpus)
    others = [one for one in found.reaches if not one.is_single]
    return picked + [one for one in (*others[:1], *others[-1:]) if one not in picked]


def _scaling(found: Ceiling) -> Figure:
    series, ends = [], [1.0, 1.0]
    for index, one in enumerate(_drawn(found)):
        points = [p for p in one.chip.candidate.scaling.points if p.whole]
        ends = [float(points[0].num_gpus), max(ends[1], float(points[-1].num_gpus))]
        series.append(
            Series(
                name=one.chip.name,
                x=tuple(float(point.num_gpus) for point in points),
                y=tuple(100 * point.mfu / points[0].mfu for point in points),
                hue=index % HUES,
                dash=dash_of(index),
                mark=mark_of(index),
            )
        )
    guide = Series(name="90 %", x=tuple(ends), y=(90.0, 90.0), hue=GREY, silent=True)
    lowest = min(min(line.y) for line in series)
    limit = found.baseline.limit_gpus
    rules = () if limit is None else (Rule(x=float(limit), label=f"RoCEv2: {limit:,}"),)
    return Figure(
        key="scaling",
        title="Efficiency as the cluster grows",
        caption="Model FLOP utilisation over that of the smallest whole cluster, each replica "
        "keeping its share of the batch. The ceiling is where a line crosses 90 %; a line ends "
        "where the network cannot be built or named any more.",
        chart=Plot(
            x=ChartAxis(title="GPUs", is_log=True),
            y=ChartAxis(
                title="efficiency kept", unit=PERCENT, bounds=(min(80.0, 5 * (lowest // 5)), 102.0)
            ),
            series=(*series, guide),
            rules=rules,
        ),
    )


def _reaches(found: Ceiling) -> Figure:
    return Figure(
        key="reaches",
        title="GPUs to which the job keeps 90 %",
        caption="Single changes to RoCEv2 in one colour, other networks in another.",
        chart=_bars(found, [float(one.limit_gpus or 0) for one in found.reaches], "GPUs"),
    )


def _bars(found: Ceiling, values: Sequence[float], title: str) -> Bars:
    single = [one.is_single for one in found.reaches]
    return Bars(
        axis=ChartAxis(title=title, unit=COUNT, from_zero=True),
        rows="chip",
        labels=tuple(
            f"{one.chip.name} (today)" if one is found.baseline else one.chip.name
            for one in found.reaches
        ),
        parts=(
            BarPart(
                name="single change",
                values=tuple(v if s else None for v, s in zip(values, single, strict=True)),
            ),
            BarPart(
                name="another network",
                values=tuple(None if s else v for v, s in zip(values, single, strict=True)),
                hue=1,
            ),
        ),
        stacked=True,
    )


def _incasts(found: Ceiling) -> Figure:
    wanted = [found.baseline, found.best_single, found.best_incast]
    extremes = sorted(found.reaches, key=lambda one: one.incasts[-1].victim_slowdown)
    picked = list(dict.fromkeys((*wanted, extremes[0], *extremes[-2:])))
    return Figure(
        key="incasts",
        title="An innocent flow beside an incast",
        caption="Packets: 1 MB from each sender to one host, and 1 MB between two hosts that take "
        "no part in it. 1 is the time of that flow on the empty network.",
        chart=Plot(
            x=ChartAxis(title="senders to one", is_log=True, is_binary=True),
            y=ChartAxis(title="times its own time", unit=PLAIN, from_zero=True),
            series=tuple(
                Series(
                    name=one.chip.name,
                    x=tuple(float(point.fan_in) for point in one.incasts),
                    y=tuple(point.victim_slowdown for point in one.incasts),
                    hue=index % HUES,
                    dash=dash_of(index),
                    mark=mark_of(index),
                )
                for index, one in enumerate(picked)
            ),
        ),
    )


def _borne(found: Ceiling) -> Figure:
    return Figure(
        key="borne",
        title="Incast that innocent flows bear",
        caption=f"Senders to one beside which an innocent flow takes less than {BEARABLE:g} times "
        f"its own time; {found.baseline.incasts[-1].fan_in} is the most that was tried.",
        chart=_bars(found, [float(one.incast_limit) for one in found.reaches], "senders"),
    )


def _knob(sweep: KnobSweep) -> Figure:
    knob, points = sweep.knob, [point for point in sweep.points if not point.reason]
    refused = [point for point in sweep.points if point.reason]
    x = ChartAxis(
        title=knob.title,
        unit=BYTES if knob.unit == "B" else PLAIN,
        is_log=knob.name in _LOG_KNOBS,
        is_binary=knob.name in ("radix", "queue-pairs"),
    )
    y, series = _measures(points)
    aside = f"not drawn: {refused[0].value:g} {knob.unit}: {refused[0].reason}" if refused else ""
    kind = "the closed form" if knob.measured == "scaling" else "packets"
    return Figure(
        key=f"knob-{knob.name}",
        title=f"{knob.title}: {knob.chip}",
        caption=f"One knob turned, all else as in the chip; by {kind}.",
        chart=Plot(x=x, y=y, series=series, aside=aside[:160]),
    )


def _measures(points: Sequence[KnobPoint]) -> tuple[ChartAxis, tuple[Series, ...]]:
    x = tuple(point.value for point in points)
    if any(point.limit_gpus is not None for point in points):
        line = Series(
            name="GPUs to which the job keeps 90 %",
            x=x,
            y=tuple(float(point.limit_gpus or 0) for point in points),
            mark="circle",
            notes=tuple(f"{point.tiers} tiers" for point in points),
        )
        return ChartAxis(title="GPUs", unit=COUNT, from_zero=True), (line,)
    paths = Series(
        name="share of the paths",
        x=x,
        y=tuple(100 * (point.path_share or 0.0) for point in points),
        mark="circle",
    )
    innocent = Series(
        name="innocent flow: its own time over its time beside an incast",
        x=x,
        y=tuple(100 / (point.victim_slowdown or 1.0) for point in points),
        hue=1,
        dash=1,
        mark="square",
    )
    return ChartAxis(title="of the best possible", unit=PERCENT, from_zero=True), (paths, innocent)


def _losses(found: Ceiling) -> Figure:
    x = tuple(point.loss for point in found.losses)
    return Figure(
        key="losses",
        title="When links lose packets",
        caption="Rate that is left of the longest path, by formula: go-back-N end to end, against "
        "links that repeat by themselves.",
        chart=Plot(
            x=ChartAxis(title="packets lost on a link", is_log=True),
            y=ChartAxis(title="rate left", unit=PERCENT, from_zero=True),
            series=(
                Series(
                    name="go-back-N (RoCEv2)",
                    x=x,
                    y=tuple(100 * point.go_back_n for point in found.losses),
                    mark="circle",
                ),
                Series(
                    name="link-level retry",
                    x=x,
                    y=tuple(100 * point.retried for point in found.losses),
                    hue=1,
                    dash=1,
                    mark="square",
                ),
            ),
        ),
    )


def _headroom(found: Ceiling) -> HtmlTable:
    return HtmlTable(
        title="How far headroom reaches",
        caption="The longest cable at which the headroom of all ports, one priority, leaves half "
        "of the switch's memory to share; the same capacity and memory at every rate.",
        headings=("rate", "ports", "longest cable"),
        rows=[
            [f"{one.rate_bps / 1e9:.0f} Gb/s", f"{one.ports}", f"{one.length_m:,.0f} m"]
            for one in found.headroom
        ],
    )


def _reading() -> Listing:
    return Listing(
        title="How to read this page",
        items=(
            Item(
                name="Scaling",
                text="comes from the closed form of the job's step on the whole cluster. Chips "
                "that spread packets take their share of the paths from the packets of the "
                "reference network; hashed ones from the closed form of collisions.",
            ),
            Item(
                name="Incast and knobs",
                text="come from packets on the reference network of two tiers. They say in which "
                "direction and how far, not what a cluster of thousands would see.",
            ),
            Item(
                name="Checks",
                text="netloom validate chips compares these mechanisms with published results.",
            ),
        ),
    )
