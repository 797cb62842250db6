"""One self-contained HTML page for a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.html import render
from netloom.report.simulate import figures
from netloom.report.simulate.pauses import pause_tree
from netloom.report.simulate.text import COUNTERS, headline, over_seeds, ratio, time
from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from netloom.report.compare.figures import Figure
    from netloom.study.simulate.simulation import Simulation

__all__ = ["simulation_page"]

_FIXED = (
    (
        "fct",
        "Completion times",
        "Share of all transfers begun that had ended within a time, from each one's own start.",
    ),
    (
        "slowdown",
        "Slowdown by size",
        "Completion time over that of the same transfer alone on the empty network.",
    ),
    (
        "map",
        "Utilisation of every link",
        "Carried bytes over what the link could carry between the first start and the last end.",
    ),
)
_CAPTIONS = {
    "utilisation": "The links with the highest peaks.",
    "samples": "Links towards the endpoints that receive most, those with the highest peaks.",
    "pauses": "Links that could not send because the other end had paused them.",
}
# Table, column, title, axis, scale.
_SERIES = (
    ("utilisation", "utilisation", "Utilisation over time", "% of the link", 100.0),
    ("samples", "waiting_bytes", "Queues over time", "KB waiting for the link", 1e-3),
)


def simulation_page(found: Simulation) -> str:
    """Return the page as one string of HTML."""
    plots = {
        "fct": figures.fct_cdf(found),
        "slowdown": figures.slowdown_by_size(found),
        "map": figures.utilisation_map(found),
    }
    cards = list(_FIXED)
    for key, title, figure in _series(found):
        plots[key] = figure
        cards.append((key, title, _CAPTIONS[key]))
    return render(
        "simulate.html.j2",
        plots=plots,
        found=found,
        headline=headline(found),
        settings=[(key.replace("_", " "), value) for key, value in found.choices.items()],
        cards=cards,
        numbers=_numbers(found),
        sizes=_sizes(found),
        jobs=_jobs(found),
        seeds=over_seeds(found) if len(found.runs) > 1 else [],
        busiest=[(row["link"], f"{row['utilisation']:.1%}") for row in found.busiest()],
        pauses=pause_tree(found),
    )


def _series(found: Simulation) -> list[tuple[str, str, Figure]]:
    tables = found.first.delivery.tables
    shown = [
        (table, title, figures.over_time(found, tables[table], value=value, unit=unit, scale=scale))
        for table, value, title, unit, scale in _SERIES
        if table in tables and value in tables[table] and len(tables[table]["link"])
    ]
    if "pauses" in tables and len(tables["pauses"]["link"]):
        shown.append(("pauses", "Pauses over time", figures.paused_links(found, tables["pauses"])))
    return shown


def _numbers(found: Simulation) -> list[tuple[str, str]]:
    counters = found.first.delivery.counters
    counted = [(word, f"{counters[key]:,}") for key, word in COUNTERS.items() if key in counters]
    return [
        ("simulated time", format_quantity(found.first.delivery.simulated_ps * 1e-12, TIME)),
        *counted,
    ]


def _jobs(found: Simulation) -> list[list[str]]:
    return [
        [
            row["job"],
            f"{row['flows']:,}",
            f"{row['flows_finished']:,}",
            time(row["fct_s"].get("p50")),
            time(row["fct_s"].get("p99")),
            ratio(row["slowdown"].get("p50")),
            ratio(row["slowdown"].get("p99")),
            time(row["finish_s"]),
        ]
        for row in found.by_job()
    ]


def _sizes(found: Simulation) -> list[list[str]]:
    return [
        [
            format_quantity(row["up_to_bytes"], SIZE),
            f"{row['flows']:,}",
            *(f"{row[name]:.3f}" for name in ("p50", "p95", "p99", "max")),
        ]
        for row in found.by_size()
    ]
