"""One self-contained HTML page for what nccl-tests should show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import (
    GREY,
    Band,
    ChartAxis,
    Figure,
    Plot,
    Series,
    Unit,
    UnitStep,
)
from netloom.report.expect.text import (
    binary_size,
    cause_rows,
    headings,
    headline,
    range_notes,
    rate,
    size_rows,
    summary,
    title,
    verdict_lines,
)
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page
from netloom.study.expect.spread import SHARE

if TYPE_CHECKING:
    from netloom.report.sections import Section
    from netloom.study.expect.expectation import Expectation, ExpectedCurve

__all__ = ["expectation_page"]

# Powers of 1024, as nccl-tests counts sizes.
_SIZES: Final = Unit(
    tuple(
        UnitStep(1024.0**power, f"{prefix}B")
        for power, prefix in enumerate(("", "Ki", "Mi", "Gi", "Ti"))
    )
)
_RATES: Final = Unit((UnitStep(1, "GB/s"),))
_OF_SHARES: Final = (
    " The share is of the expected bus bandwidth, and what is wanted of it is the interval."
)
_HOLDS: Final = f"{SHARE:.0%} of measured values".replace("%", " %")


def expectation_page(found: Expectation) -> str:
    """Return the page as one string of HTML."""
    page = Page(
        title=f"What nccl-tests should show on {headline(found)}",
        subtitle=f"Bus bandwidth as nccl-tests counts it; the interval is to hold {_HOLDS}.",
        answer=_answer(found),
        sections=tuple(
            section for number, one in enumerate(found.curves) for section in _sections(one, number)
        ),
    )
    return render(page)


def _answer(found: Expectation) -> AnswerBox:
    curves = found.curves
    told = [one for one in curves if one.diagnosis is not None]
    if not told:
        return AnswerBox(headline=_best(curves[0]), lines=tuple(_best(one) for one in curves[1:]))
    wrong = [one for one in told if one.diagnosis and one.diagnosis.verdict != "as expected"]
    first = (wrong or told)[0]
    assert first.diagnosis is not None, first
    return AnswerBox(
        headline=summary(first),
        lines=(f"{title(first)}.", *verdict_lines(first.diagnosis)),
        notes=tuple(f"{title(one)}: {summary(one)}" for one in told if one is not first),
    )


def _best(curve: ExpectedCurve) -> str:
    most = max(curve.points, key=lambda one: one.bus_gbps)
    return (
        f"{title(curve)}: {rate(most.bus_gbps)} GB/s at {binary_size(most.size_bytes)} "
        f"({rate(most.low_gbps)} to {rate(most.high_gbps)}); {curve.inside} of "
        f"{len(curve.points)} sizes are inside what was validated."
    )


def _sections(curve: ExpectedCurve, number: int) -> tuple[Section, ...]:
    table = HtmlTable(
        title=f"Size by size: {title(curve)}",
        caption="Time, algorithm and bus bandwidth in GB/s, what NCCL runs, and whether it is "
        "inside what was validated." + (_OF_SHARES if curve.measured else ""),
        headings=headings(curve),
        rows=size_rows(curve),
        notes=curve.notes,
        folds=_folds(curve),
    )
    return (Gallery(figures=(_figure(curve, number),), tables=_causes(curve)), table)


def _folds(curve: ExpectedCurve) -> tuple[Fold, ...]:
    notes = range_notes(curve)
    if not notes:
        return ()
    items = tuple(Item(text=note) for note in notes)
    return (Fold(summary="Why sizes are outside what was validated", items=items),)


def _causes(curve: ExpectedCurve) -> tuple[HtmlTable, ...]:
    found = curve.diagnosis
    if found is None or not found.causes:
        return ()
    told = any(one.says for one in found.causes)
    return (
        HtmlTable(
            title="Causes that were weighed",
            caption="Each is a changed network that the same model predicts; the likeliest fits "
            "the whole curve best.",
            headings=("cause", "probability", "curve off by", *(("",) if told else ())),
            rows=[row if told else row[:3] for row in cause_rows(found)],
            is_words=True,
        ),
    )


def _figure(curve: ExpectedCurve, number: int) -> Figure:
    sizes = tuple(one.size_bytes for one in curve.points)
    series = [
        Series(
            name="expected",
            x=sizes,
            y=tuple(one.bus_gbps for one in curve.points),
            notes=tuple(f"{one.algorithm} {one.protocol}" for one in curve.points),
        ),
        *_measured(curve),
    ]
    band = Band(
        name="interval",
        x=sizes,
        low=tuple(one.low_gbps for one in curve.points),
        high=tuple(one.high_gbps for one in curve.points),
    )
    return Figure(
        key=f"curve-{number}",
        title=f"Bus bandwidth: {title(curve)}",
        caption=f"The band is to hold {_HOLDS}.",
        chart=Plot(
            x=ChartAxis(title="size", unit=_SIZES, is_log=True, is_binary=True),
            y=ChartAxis(title="bus bandwidth", unit=_RATES, is_log=True),
            series=tuple(series),
            bands=(band,),
        ),
    )


def _measured(curve: ExpectedCurve) -> list[Series]:
    if not curve.measured:
        return []
    sizes = tuple(one.size_bytes for one in curve.measured)
    found = [
        Series(
            name="measured",
            x=sizes,
            y=tuple(one.bus_gbps for one in curve.measured),
            hue=1,
            join="none",
            mark="circle",
        )
    ]
    named = None if curve.diagnosis is None else curve.diagnosis.named
    if named is not None:
        found.append(
            Series(
                name=f"predicted: {named.title}", x=sizes, y=named.predicted_gbps, hue=GREY, dash=1
            )
        )
    return found
