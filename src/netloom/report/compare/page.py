"""One self-contained HTML page for a comparison: no network, no other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import Figure
from netloom.report.compare import figures
from netloom.report.compare.sources import cited_sources
from netloom.report.compare.text import columns_of
from netloom.report.html import render
from netloom.report.sections import (
    AnswerBox,
    Fold,
    Gallery,
    HtmlTable,
    Item,
    Listing,
    Page,
    trust_fold,
)

if TYPE_CHECKING:
    from netloom.study.compare.comparison import Comparison

__all__ = ["comparison_page"]


def comparison_page(comparison: Comparison) -> str:
    """Return the page as one string of HTML."""
    advice = comparison.recommendation
    doubts = tuple(Item(text=doubt) for doubt in advice.doubts)
    page = Page(
        title=comparison.title,
        subtitle=comparison.subtitle,
        answer=AnswerBox(
            heading="Recommendation",
            headline=advice.technology,
            reasons=tuple(advice.reasons),
            folds=(Fold(summary="Doubts", items=doubts),) if doubts else (),
        ),
        sections=(
            _technologies(comparison),
            Gallery(figures=_figures(comparison)),
            _operations(comparison),
            _sources(comparison),
        ),
    )
    return render(page)


def _technologies(comparison: Comparison) -> HtmlTable:
    best = comparison.recommendation.technology
    inside = all(contender.validity.inside for contender in comparison.contenders)
    star = () if inside else ("* outside the range checked against measurements: see below.",)
    left_out = tuple(
        Item(name=f"{refusal.technology}:", text=refusal.reason) for refusal in comparison.refused
    )
    columns = columns_of(comparison.contenders)
    return HtmlTable(
        title="Technologies",
        caption=(
            "The same job on the same GPUs over each network; the recommended one stands out. "
            "Ttok: a trillion tokens; 90% to GPUs: up to how many it keeps 90 % of its efficiency."
        ),
        headings=[heading for heading, _ in columns],
        rows=[[show(one) for _, show in columns] for one in comparison.contenders],
        marked=frozenset(
            row for row, contender in enumerate(comparison.contenders) if contender.name == best
        ),
        notes=(*star, *comparison.notes),
        folds=(
            trust_fold(_trust(comparison)),
            *((Fold(summary=f"{len(left_out)} left out", items=left_out),) if left_out else ()),
        ),
    )


def _figures(comparison: Comparison) -> tuple[Figure, ...]:
    contenders = comparison.contenders
    return (
        Figure(
            key="scaling",
            title="Scaling",
            caption=(
                "Model FLOP utilisation as the cluster grows, each replica keeping its share of "
                "the batch (weak scaling). Faint open marks: clusters too small for the model, "
                "which is cut to fewer layers. A line ends where the network can no longer be "
                "built."
            ),
            chart=figures.scaling(contenders),
        ),
        Figure(
            key="step",
            title="Where the step goes",
            caption=(
                "One optimizer step. Only communication that no computation hides is shown. Error "
                "bars hold nine in ten measured steps; what computation is off by moves all bars "
                "alike."
            ),
            chart=figures.where_the_step_goes(contenders),
        ),
        Figure(
            key="cost",
            title="Cost against speed",
            caption=(
                "Nodes, network and power over their lifetime, failures included. Lower left is "
                "better. Open marks cannot be bought yet, or any more."
            ),
            chart=figures.cost_against_speed(contenders),
        ),
        Figure(
            key="latency",
            title="Latency budget",
            caption=(
                "A small message, one way, between the two nodes that are farthest apart in this "
                "fabric."
            ),
            chart=figures.latency_budget(contenders),
        ),
    )


def _operations(comparison: Comparison) -> HtmlTable:
    keys = dict.fromkeys(key for c in comparison.contenders for key in c.technology.operations)
    return HtmlTable(
        title="Operations",
        caption="What each technology offers those who run it.",
        headings=("feature", *(contender.name for contender in comparison.contenders)),
        rows=[
            (
                key.replace("_", " "),
                *(c.technology.operations.get(key, "") for c in comparison.contenders),
            )
            for key in keys
        ],
        is_words=True,
    )


def _sources(comparison: Comparison) -> Listing:
    cited = tuple(
        Item(tag=source.confidence, text=source.citation, note=source.note or "")
        for source in cited_sources(comparison)
    )
    return Listing(
        title="Where the numbers come from",
        folds=(Fold(summary=f"{len(cited)} sources behind these numbers", items=cited),),
        notes=("Any number down to its constants: netloom compare --why FIELD.",),
    )


def _trust(comparison: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    """Return the doubts, technologies that share all of them together."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for contender in comparison.contenders:
        sharing.setdefault(contender.validity.doubts, []).append(contender.name)
    return [(", ".join(names), doubts) for doubts, names in sharing.items()]
