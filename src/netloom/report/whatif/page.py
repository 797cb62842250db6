"""One self-contained HTML page for a what-if."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.html import render
from netloom.report.whatif import figures
from netloom.report.whatif.text import HEADINGS, headline, ranking_cells, seeds_words, title

if TYPE_CHECKING:
    from netloom.study.whatif.failure import WhatIf
    from netloom.study.whatif.rank import Ranking

__all__ = ["ranking_page", "whatif_page"]

MAP: Final = (
    "map",
    "Utilisation of every link between switches",
    (
        "What each link carries over what it can, in the collective that fills it most; first "
        "seed. Open squares carry nothing."
    ),
)


def whatif_page(found: WhatIf) -> str:
    """Return the page of one what-if as one string of HTML."""
    runs = [("before", found.before[0])]
    if found.after.runs:
        runs.append(("after", found.after.runs[0]))
    rows = [
        (
            one.pattern,
            f"{one.num_ranks:,}",
            f"{one.node_stride:,}",
            f"{one.before:.3f}",
            "stops" if one.after is None else f"{one.after:.3f}",
        )
        for one in found.collectives()
    ]
    return render(
        "whatif.html.j2",
        plots={
            "map": figures.link_map(found.bench.fabric, runs),
            "step": figures.where_it_goes(runs),
        },
        title=title(found.bench),
        asked="; ".join(map(str, found.changes)),
        headline=headline(found),
        seeds=seeds_words(found.bench),
        cards=[MAP, ("step", "Where the step goes", "One optimizer step; first seed.")],
        table_title="What the network does to each collective",
        headings=("between nodes", "ranks", "node stride", "slowdown before", "after"),
        rows=rows,
        doubts=found.validity.doubts,
    )


def ranking_page(found: Ranking) -> str:
    """Return the page of a ranking as one string of HTML."""
    act = "fails" if found.factor is None else f"is {found.factor:g} times slower"
    worst = found.rows[0]
    loss = "the job stops" if worst.effect.step_s is None else f"{worst.lost_share:.2%} is lost"
    return render(
        "whatif.html.j2",
        plots={
            "blast": figures.blast(found),
            "map": figures.link_map(found.bench.fabric, [("", found.before[0])]),
        },
        title=title(found.bench),
        asked=f"one part of {found.which!r} {act}",
        headline=f"the worst: {worst.parts[0]} and {len(worst.parts) - 1:,} alike; {loss}",
        seeds=seeds_words(found.bench),
        cards=[
            ("blast", "Blast radius", "What the job loses of its speed, the worst parts first."),
            MAP,
        ],
        table_title="Every single failure",
        headings=HEADINGS,
        rows=[ranking_cells(row) for row in found.rows],
        doubts=found.validity.doubts,
    )
