"""One self-contained HTML page for a what-if."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import Figure
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, doubts_fold
from netloom.report.whatif import figures
from netloom.report.whatif.text import HEADINGS, headline, ranking_cells, seeds_words, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.whatif.failure import BaselineJob, DrawnStep, WhatIf
    from netloom.study.whatif.rank import Ranking

__all__ = ["ranking_page", "whatif_page"]

MAX_ROWS: Final = 1000


def whatif_page(found: WhatIf) -> str:
    """Return the page of one what-if as one string of HTML."""
    runs = [("before", found.before[0])]
    if found.after.runs:
        runs.append(("after", found.after.runs[0]))
    step = Figure(
        key="step",
        title="Where the step goes",
        caption="One optimizer step; first seed.",
        chart=figures.where_it_goes(runs),
    )
    page = Page(
        title=title(found.bench),
        subtitle="; ".join(map(str, found.changes)),
        answer=_answer(headline(found), found.bench),
        sections=(
            _collectives(found),
            Gallery(figures=(_map(found.bench, runs), step)),
        ),
    )
    return render(page)


def _answer(words: str, bench: BaselineJob) -> AnswerBox:
    seeds = seeds_words(bench)
    return AnswerBox(headline=words, notes=(seeds,) if seeds else ())


def _map(bench: BaselineJob, runs: Sequence[tuple[str, DrawnStep]]) -> Figure:
    return Figure(
        key="map",
        title="Utilisation of every link between switches",
        caption=(
            "What each link carries over what it can, in the collective that fills it most; first "
            "seed. A square is a link, in the order of the switches, column by column; open "
            "squares carry nothing."
        ),
        chart=figures.link_map(bench.fabric, runs),
    )


def _collectives(found: WhatIf) -> HtmlTable:
    return HtmlTable(
        title="What the network does to each collective",
        caption="Time of each collective between nodes over that on an undisturbed network.",
        headings=("between nodes", "ranks", "node stride", "slowdown before", "after"),
        rows=[
            (
                one.pattern,
                f"{one.num_ranks:,}",
                f"{one.node_stride:,}",
                f"{one.before:.3f}",
                "stops" if one.after is None else f"{one.after:.3f}",
            )
            for one in found.collectives()
        ],
        folds=doubts_fold(found.validity.doubts),
    )


def ranking_page(found: Ranking) -> str:
    """Return the page of a ranking as one string of HTML."""
    act = "fails" if found.factor is None else f"is {found.factor:g} times slower"
    worst = found.rows[0]
    loss = "the job stops" if worst.effect.step_s is None else f"{worst.lost_share:.2%} is lost"
    words = f"the worst: {worst.parts[0]} and {len(worst.parts) - 1:,} alike; {loss}"
    blast = Figure(
        key="blast",
        title="Blast radius",
        caption="What the job loses of its speed, the worst parts first.",
        chart=figures.blast(found),
    )
    page = Page(
        title=title(found.bench),
        subtitle=f"one part of {found.which!r} {act}",
        answer=_answer(words, found.bench),
        sections=(
            Gallery(figures=(blast, _map(found.bench, [("", found.before[0])]))),
            _failures(found),
        ),
    )
    return render(page)


def _failures(found: Ranking) -> HtmlTable:
    rest = len(found.rows) - MAX_ROWS
    more = (f"... and {rest:,} more; --json has all",) if rest > 0 else ()
    return HtmlTable(
        title="Every single failure",
        caption="Parts whose failure does the same are one row.",
        headings=HEADINGS,
        rows=[ranking_cells(row) for row in found.rows[:MAX_ROWS]],
        notes=more,
        folds=doubts_fold(found.validity.doubts),
    )
