"""A sweep as text and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.report.charts import Figure
from netloom.report.html import render
from netloom.report.sections import Gallery, HtmlTable, Item, Listing, Page
from netloom.report.sweep.figures import figure, in_words
from netloom.results.interval import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from netloom.results.table import Cell
    from netloom.study.sweep.result import Sweep

__all__ = ["sweep_page", "sweep_text"]

MAX_ROWS: Final = 60
MAX_PAGE_ROWS: Final = 1000
MAX_FAILURES: Final = 20

OUTSIDE: Final = " *"
OUTSIDE_NOTE: Final = "* outside the range that was checked against measurements; --json says why."
MEANS_NOTE: Final = (
    f"Means over seeds with their {CONFIDENCE:.0%} confidence interval (Student's t); as far as "
    "the seeds are a fair sample, and the numbers not very skewed."
)


def sweep_text(sweep: Sweep) -> RenderableType:
    """Return what ``netloom sweep`` prints."""
    headings, rows = _shown(sweep)
    parts: list[RenderableType] = [Text(_title(sweep), style="bold"), "", _table(headings, rows)]
    if len(rows) > MAX_ROWS:
        more = f"and {len(rows) - MAX_ROWS} rows more; --out, --report and --json have them all"
        parts.append(Text(more, style="dim"))
    parts += [Text(note, style="dim") for note in _notes(sweep, rows)]
    parts += ["", Text(_account(sweep)), *_failures(sweep)]
    return Group(*parts)


def sweep_page(sweep: Sweep) -> str:
    """Return the page as one string of HTML."""
    headings, rows = _shown(sweep)
    page = Page(
        title=_title(sweep),
        subtitle=f"{_account(sweep)}; netloom {sweep.plan.release}",
        notes=tuple(note.replace("* ", "* and open marks: ") for note in _notes(sweep, rows)),
        sections=tuple(
            section
            for section in (_gallery(sweep), _failed(sweep), _results(headings, rows))
            if section is not None
        ),
    )
    return render(page)


def _gallery(sweep: Sweep) -> Gallery:
    return Gallery(
        figures=tuple(
            Figure(
                key=f"plot{index}",
                title=in_words(name),
                caption=f"{name} over what the sweep varies.",
                chart=figure(sweep, name),
            )
            for index, name in enumerate(_names(sweep))
        )
    )


def _failed(sweep: Sweep) -> Listing | None:
    items = [
        Item(name=f"{_described(answer.values)}:", text=str(answer.error))
        for answer in sweep.failed[:MAX_PAGE_ROWS]
    ]
    return Listing(title=f"{len(sweep.failed):,} failed", items=tuple(items)) if items else None


def _results(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> HtmlTable:
    rest = len(rows) - MAX_PAGE_ROWS
    more = (f"and {rest:,} rows more; --out and --json have them all",) if rest > 0 else ()
    return HtmlTable(
        title="Results",
        caption="Every point: what varies, then what was asked for.",
        headings=headings,
        rows=rows[:MAX_PAGE_ROWS],
        notes=more,
    )


def _names(sweep: Sweep) -> list[str]:
    """Return the numbers to show, as far as any row has them."""
    there = {name for row in sweep.rows() for name, cell in row.items() if cell is not None}
    return [name for name in sweep.plan.question.shown if name in there]


def _shown(sweep: Sweep) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: what varies, and the numbers the question is about."""
    names = _names(sweep)
    means = sweep.means()
    heads = [*sweep.keys, *(["seeds", "failed"] if means else [])]
    if means is None:
        rows = [row for row in sweep.rows() if not row["error"]]
        numbers = [[_cell(row.get(name)) for name in names] for row in rows]
    else:
        rows = means.rows()
        numbers = [[_mean(row, name) for name in names] for row in rows]
    for row, shown in zip(rows, numbers, strict=True):
        if shown and row.get("validity.inside") is False:
            shown[0] += OUTSIDE
    cells = [[_cell(row.get(head)) for head in heads] for row in rows]
    return [*heads, *names], [[*a, *b] for a, b in zip(cells, numbers, strict=True)]


def _notes(sweep: Sweep, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return what a reader of the table should know."""
    is_outside = any(cell.endswith(OUTSIDE) for row in rows for cell in row)
    notes = [OUTSIDE_NOTE] if is_outside else []
    return [*notes, MEANS_NOTE] if sweep.plan.varies_seed else notes


def _mean(row: dict[str, Cell], name: str) -> str:
    mean, low = row.get(f"{name}.mean"), row.get(f"{name}.ci95_low")
    if not isinstance(mean, float):
        return ""
    return f"{mean:.5g} +- {mean - low:.2g}" if isinstance(low, float) else f"{mean:.5g}"


def _cell(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.5g}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return "" if cell is None else str(cell)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    for row in rows[:MAX_ROWS]:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _title(sweep: Sweep) -> str:
    return f"{sweep.plan.question_name} at {len(sweep.answers):,} points"


def _account(sweep: Sweep) -> str:
    rate = sweep.num_computed / sweep.wall_s if sweep.wall_s else 0.0
    return (
        f"{sweep.num_from_store:,} from the store, {sweep.num_computed:,} computed, "
        f"{len(sweep.failed):,} failed; {sweep.wall_s:.1f} s"
        + (f", {rate:.3g} points/s" if sweep.num_computed else "")
    )


def _failures(sweep: Sweep) -> Iterator[Text]:
    for answer in sweep.failed[:MAX_FAILURES]:
        yield Text(f"failed: {_described(answer.values)}: {answer.error}", style="red")
    if len(sweep.failed) > MAX_FAILURES:
        yield Text(f"and {len(sweep.failed) - MAX_FAILURES:,} failures more", style="red")


def _described(values: object) -> str:
    assert isinstance(values, dict)
    return ", ".join(f"{path} = {value}" for path, value in values.items())
