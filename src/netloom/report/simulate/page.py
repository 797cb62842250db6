"""One self-contained HTML page for a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.report.charts import BYTES, PERCENT, Figure
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Gallery, HtmlTable, Page, Section
from netloom.report.simulate import figures
from netloom.report.simulate.pauses import pause_tree
from netloom.report.simulate.text import COUNTERS, headline, over_seeds, ratio, step_rows, time
from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from netloom.study.simulate.simulation import Simulation

__all__ = ["simulation_page"]

MAX_ROWS: Final = 1000
# Table, column, title, axis, unit, scale, caption.
_SERIES: Final = (
    (
        "utilisation",
        "utilisation",
        "Utilisation over time",
        "utilisation of the link",
        PERCENT,
        100.0,
        "The links with the highest peaks.",
    ),
    (
        "samples",
        "waiting_bytes",
        "Queues over time",
        "waiting for the link",
        BYTES,
        1.0,
        "Links towards the endpoints that receive most, those with the highest peaks.",
    ),
)


def simulation_page(found: Simulation) -> str:
    """Return the page as one string of HTML."""
    sections: list[Section | None] = [
        _step(found),
        _traffic(found),
        _over_seeds(found),
        Gallery(figures=(*_figures(found), *_series(found))),
        _pauses(found),
        Gallery(tables=(_sizes(found), _busiest(found), _counted(found))),
    ]
    page = Page(
        title=found.title,
        subtitle=_subtitle(found),
        answer=AnswerBox(
            headline=headline(found),
            tags=tuple((key.replace("_", " "), str(value)) for key, value in found.choices.items()),
            notes=tuple(found.notes),
        ),
        sections=tuple(section for section in sections if section is not None),
    )
    return render(page)


def _subtitle(found: Simulation) -> str:
    seed = found.first.seed
    seeds = (
        f"{len(found.runs)} seeds; the curve of completion times and slowdown by size are of all, "
        f"other tables and series of seed {seed}"
        if len(found.runs) > 1
        else f"seed {seed}"
    )
    return f"{found.engine} engine, {found.technology}, {seeds}"


def _figures(found: Simulation) -> tuple[Figure, ...]:
    return (
        Figure(
            key="fct",
            title="Completion times",
            caption=(
                "Share of all transfers begun that had ended within a time, from each one's own "
                "start."
            ),
            chart=figures.fct_cdf(found),
        ),
        Figure(
            key="slowdown",
            title="Slowdown by size",
            caption="Completion time over that of the same transfer alone on the empty network.",
            chart=figures.slowdown_by_size(found),
        ),
        Figure(
            key="map",
            title="Utilisation of every link",
            caption=(
                "Carried bytes over what the link could carry between the first start and the last "
                "end. A square is a link, the busiest of a tier first, column by column; open "
                "squares carried nothing."
            ),
            chart=figures.utilisation_map(found),
        ),
    )


def _series(found: Simulation) -> tuple[Figure, ...]:
    """Return a figure for each thing that was recorded over time."""
    tables = found.first.delivery.tables
    shown = [
        Figure(
            key=table,
            title=title,
            caption=caption,
            chart=figures.over_time(
                found, tables[table], value=value, axis=axis, unit=unit, scale=scale
            ),
        )
        for table, value, title, axis, unit, scale, caption in _SERIES
        if table in tables and value in tables[table] and len(tables[table]["link"])
    ]
    if "pauses" in tables and len(tables["pauses"]["link"]):
        caption = "Links that could not send because the other end had paused them."
        chart = figures.paused_links(found, tables["pauses"])
        shown.append(Figure(key="pauses", title="Pauses over time", caption=caption, chart=chart))
    return tuple(shown)


def _traffic(found: Simulation) -> HtmlTable:
    rest = len(found.jobs) - MAX_ROWS
    return HtmlTable(
        title="Traffic",
        caption="Completion times and slowdowns of each piece of traffic.",
        headings=(
            "piece",
            "transfers",
            "ended",
            "completion p50",
            "completion p99",
            "slowdown p50",
            "slowdown p99",
            "last end",
        ),
        rows=_jobs(found)[:MAX_ROWS],
        notes=(f"and {rest:,} more; --json has all",) if rest > 0 else (),
    )


def _step(found: Simulation) -> HtmlTable | None:
    rows = step_rows(found)
    if not rows:
        return None
    return HtmlTable(
        title="The step beside its prediction",
        caption="Of the GPUs that compute longest and, of these, end last.",
        headings=("phase", "predicted", "packets", "difference"),
        rows=[row[:-1] for row in rows],
        notes=tuple(f"{row[0]}: {row[-1]}" for row in rows if row[-1]),
    )


def _over_seeds(found: Simulation) -> HtmlTable | None:
    if len(found.runs) == 1:
        return None
    return HtmlTable(
        title=f"Over {len(found.runs)} seeds",
        caption=(
            "The mean of the seeds' own numbers, and where Student's interval of 95 % puts the "
            "mean of all seeds."
        ),
        headings=("number", "mean", "from", "to"),
        rows=over_seeds(found),
    )


def _pauses(found: Simulation) -> HtmlTable | None:
    rows = pause_tree(found)
    if not rows:
        return None
    return HtmlTable(
        title="Who paused whom",
        caption=(
            "A pause on a link fills the switch behind it, which then pauses its own neighbours. "
            "Each line is a pair of neighbours whose links were paused, indented under the pair "
            "whose pauses at the same switch, in the same priority, most of its own began in or "
            "soon after. Times of parallel links are added up."
        ),
        headings=("paused", "links", "for", "times"),
        rows=[(ends, str(links), time, f"{count:,}") for _, ends, links, time, count in rows],
        indents=tuple(depth for depth, *_ in rows),
    )


def _busiest(found: Simulation) -> HtmlTable:
    return HtmlTable(
        title="Busiest links",
        caption="Carried over what they could have.",
        headings=("link", "used"),
        rows=[(row["link"], f"{row['utilisation']:.1%}") for row in found.busiest()],
    )


def _counted(found: Simulation) -> HtmlTable:
    return HtmlTable(
        title="Counted",
        caption="What the engine counted.",
        headings=("what", "count"),
        rows=_numbers(found),
    )


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


def _sizes(found: Simulation) -> HtmlTable:
    rows = [
        [
            format_quantity(row["up_to_bytes"], SIZE),
            f"{row['flows']:,}",
            *(f"{row[name]:.3f}" for name in ("p50", "p95", "p99", "max")),
        ]
        for row in found.by_size()
    ]
    return HtmlTable(
        title="Slowdown by size, in numbers",
        caption="Completion time over that of the same transfer alone on the empty network.",
        headings=("up to", "flows", "p50", "p95", "p99", "max"),
        rows=rows,
    )
