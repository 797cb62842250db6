"""What a failure does, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.results.interval import mean_interval
from netloom.units import TIME, format_count, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.whatif.failure import BaselineJob, DrawnStep, WhatIf
    from netloom.study.whatif.rank import RankedParts, Ranking

__all__ = ["headline", "ranking_cells", "ranking_text", "seeds_words", "title", "whatif_text"]

MAX_ROWS: Final = 30
HEADINGS: Final = ("part", "alike", "speed lost", "step", "cut off")


def whatif_text(found: WhatIf) -> RenderableType:
    """Return what ``netloom whatif`` prints."""
    stops = found.after_s is None
    parts: list[RenderableType] = [
        Text(title(found.bench), style="bold"),
        Text("; ".join(map(str, found.changes))),
        Text(headline(found), style="red" if stops else "green"),
    ]
    if words := seeds_words(found.bench):
        parts.append(Text(words, style="dim"))
    if found.collectives():
        parts += ["", _collectives(found)]
    parts += [Text(f"- {doubt}", style="dim") for doubt in found.validity.doubts]
    return Group(*parts)


def title(bench: BaselineJob) -> str:
    """Return which job on which network."""
    design, technology = bench.network.design, bench.network.technology.name
    return f"{bench.scenario.job.model} on {format_count(design.num_gpus, 'GPU')}, {technology}"


def headline(found: WhatIf) -> str:
    """Return the answer in one sentence."""
    before = _span(found.before)
    if found.after_s is None:
        return f"step {before}; the job stops: {found.after.stopped}"
    lost = found.lost_share
    what = f"{lost:.2%} of the speed is lost" if lost >= 0 else f"{-lost:.2%} faster"
    return f"step {before} before, {_span(found.after.runs)} after: {what}"


def seeds_words(bench: BaselineJob) -> str:
    """Return how many draws the numbers are a mean of, where there are several."""
    count = len(bench.seeds)
    return f"means of {count} draws of the hash, with 95 % confidence" if count > 1 else ""


def _span(runs: Sequence[DrawnStep]) -> str:
    found = mean_interval([run.duration_s for run in runs])
    mean = format_quantity(found.mean, TIME, digits=4)
    if found.low is None or found.high is None:
        return mean
    return f"{mean} +- {format_quantity((found.high - found.low) / 2, TIME)}"


def _collectives(found: WhatIf) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("between nodes")
    for heading in ("ranks", "node stride", "slowdown before", "after"):
        table.add_column(heading, justify="right")
    for one in found.collectives():
        after = "stops" if one.after is None else f"{one.after:.3f}"
        table.add_row(
            one.pattern, f"{one.num_ranks:,}", f"{one.node_stride:,}", f"{one.before:.3f}", after
        )
    return table


def ranking_text(found: Ranking) -> RenderableType:
    """Return what ``netloom whatif --rank`` prints."""
    act = "fails" if found.factor is None else f"is {found.factor:g} times slower"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number == 0 else "right")
    for row in found.rows[:MAX_ROWS]:
        table.add_row(*ranking_cells(row))
    parts: list[RenderableType] = [
        Text(title(found.bench), style="bold"),
        Text(
            f"one part of {found.which!r} {act}, the worst first; step before "
            f"{format_quantity(found.before_s, TIME, digits=4)}"
        ),
    ]
    if words := seeds_words(found.bench):
        parts.append(Text(words, style="dim"))
    parts += ["", table]
    if len(found.rows) > MAX_ROWS:
        parts.append(Text(f"... and {len(found.rows) - MAX_ROWS:,} more; --json has all"))
    parts += [Text(f"- {doubt}", style="dim") for doubt in found.validity.doubts]
    return Group(*parts)


def ranking_cells(row: RankedParts) -> tuple[str, ...]:
    """Return a row of a ranking as text."""
    effect = row.effect
    name = f"{row.parts[0]} ({row.where})" if row.where else row.parts[0]
    step = "stops" if effect.step_s is None else format_quantity(effect.step_s, TIME, digits=4)
    lost = "" if not effect.num_gpus_cut_off else f"{format_count(effect.num_gpus_cut_off, 'GPU')}"
    return name, f"{len(row.parts):,}", f"{row.lost_share:.2%}", step, lost
