"""One self-contained HTML page for a comparison: no network, no other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.compare import figures
from netloom.report.compare.sources import cited_sources
from netloom.report.compare.text import cells, headings
from netloom.report.html import render

if TYPE_CHECKING:
    from netloom.study.compare.comparison import Comparison

__all__ = ["comparison_page"]

FIGURES = (
    (
        "scaling",
        "Scaling",
        figures.scaling,
        (
            "Model FLOP utilisation as the cluster grows, each replica keeping its share of the "
            "batch (weak scaling). Faint circles: clusters too small for the model, which is cut "
            "to fewer layers. A line ends where the network can no longer be built."
        ),
    ),
    (
        "step",
        "Where the step goes",
        figures.where_the_step_goes,
        "One optimizer step. Only communication that no computation hides is shown.",
    ),
    (
        "cost",
        "Cost against speed",
        figures.cost_against_speed,
        (
            "Nodes, network and power over their lifetime, failures included. Lower left is "
            "better. "
            "Open circles cannot be bought yet, or any more."
        ),
    ),
    (
        "latency",
        "Latency budget",
        figures.latency_budget,
        "A small message, one way, between the two nodes that are farthest apart in this fabric.",
    ),
)


def comparison_page(comparison: Comparison) -> str:
    """Return the page as one string of HTML."""
    return render(
        "compare.html.j2",
        plots={key: draw(comparison.contenders) for key, _, draw, _ in FIGURES},
        comparison=comparison,
        headings=headings(),
        inside=all(contender.validity.inside for contender in comparison.contenders),
        rows=[cells(contender) for contender in comparison.contenders],
        figures=[(key, title, caption) for key, title, _, caption in FIGURES],
        features=_features(comparison),
        trust=_trust(comparison),
        sources=cited_sources(comparison),
    )


def _trust(comparison: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    """Return the doubts, technologies that share all of them together."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for contender in comparison.contenders:
        sharing.setdefault(contender.validity.doubts, []).append(contender.name)
    return [(", ".join(names), doubts) for doubts, names in sharing.items()]


def _features(comparison: Comparison) -> list[tuple[str, list[str]]]:
    keys = dict.fromkeys(key for c in comparison.contenders for key in c.technology.operations)
    return [
        (
            key.replace("_", " "),
            [c.technology.operations.get(key, "") for c in comparison.contenders],
        )
        for key in keys
    ]
