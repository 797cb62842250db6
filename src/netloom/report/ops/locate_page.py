"""One self-contained HTML page for what a look at a fabric found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from netloom.report.charts import PERCENT, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.ops.locate import finding_lines, nothing
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Item, Listing, Page, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.heal.snapshot import Dispute
    from netloom.ops.locate.findings import Finding

__all__ = ["FindingsReport", "findings_page"]

MAX_FINDINGS: Final = 200
MAX_BARS: Final = 20


class FindingsReport(Protocol):
    """What a look at a fabric found."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Most certain first."""

    @property
    def disputes(self) -> tuple[Dispute, ...]:
        """Parts on which sources disagree."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What could not be found out, and why."""

    @property
    def num_flows(self) -> int:
        """Flows and probes behind the findings."""


def findings_page(sight: FindingsReport, *, title: str = "What is broken") -> str:
    """Return the page as one string of HTML."""
    sections: list[Section | None] = [
        _suspects(sight.findings),
        _certainty(sight.findings),
        _evidence(sight.findings),
        _disputes(sight),
        _unknown(sight),
    ]
    page = Page(
        title=title,
        subtitle=f"as told by {sight.num_flows:,} flows and probes",
        answer=AnswerBox(headline=_headline(sight)),
        sections=tuple(section for section in sections if section is not None),
    )
    return render(page)


def _headline(sight: FindingsReport) -> str:
    if not sight.findings:
        return nothing(sight.num_flows)
    first = sight.findings[0]
    more = len(sight.findings) - 1
    others = f"; {more:,} more below" if more else ""
    return f"{first.part}: {first.kind}, {first.confidence:.0%} sure{others}"


def _suspects(findings: Sequence[Finding]) -> HtmlTable | None:
    if not findings:
        return None
    rest = len(findings) - MAX_FINDINGS
    return HtmlTable(
        title="Suspects",
        caption="The most certain first. A repair saves that share of the hurt flows' time.",
        headings=("part", "what is wrong", "sure", "GPUs hurt", "a repair saves"),
        rows=[
            (
                str(one.part),
                one.kind,
                f"{one.confidence:.0%}",
                f"{len(one.hurts):,}",
                f"{one.predicted_gain:.1%}" if one.predicted_gain > 0 else "-",
            )
            for one in findings[:MAX_FINDINGS]
        ],
        notes=(f"and {rest:,} more; --json has all",) if rest > 0 else (),
    )


def _certainty(findings: Sequence[Finding]) -> Gallery | None:
    shown = findings[:MAX_BARS]
    if not shown:
        return None
    chart = Bars(
        axis=ChartAxis(title="chance to be the cause", unit=PERCENT, bounds=(0.0, 100.0)),
        rows="part",
        labels=tuple(str(one.part) for one in shown),
        parts=(BarPart(name="", values=tuple(100 * one.confidence for one in shown)),),
    )
    caption = "How sure each suspect is, the surest first."
    return Gallery(figures=(Figure(key="sure", title="Certainty", caption=caption, chart=chart),))


def _evidence(findings: Sequence[Finding]) -> Listing | None:
    items = tuple(
        Item(name=f"{one.part}:", text=one.kind, below=tuple(finding_lines(one)))
        for one in findings[:MAX_FINDINGS]
    )
    return Listing(title="Evidence", items=items) if items else None


def _disputes(sight: FindingsReport) -> Listing | None:
    items = tuple(Item(name=f"{one.part}:", text="; ".join(one.says)) for one in sight.disputes)
    return Listing(title="Sources disagree", items=items) if items else None


def _unknown(sight: FindingsReport) -> Listing | None:
    items = tuple(Item(text=doubt) for doubt in sight.doubts)
    return Listing(title="Not known", items=items) if items else None
