"""What a search found, as text: the best configurations and what tells them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.plan.words import (
    HEADINGS,
    alike,
    apart,
    differing,
    fields_of,
    musd,
    show,
    time,
)
from netloom.report.scatter import Mark, scatter
from netloom.units import SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.plan.result import Plan, PlannedConfiguration

__all__ = ["plan_text"]

_BEATEN: Final = "."
_UNSURE: Final = "?"
_MARKS: Final = {"inside": "", "above": "*", "outside": _UNSURE}


def plan_text(plan: Plan, *, wall_s: float, known: int = 0) -> RenderableType:
    """Return what ``netloom plan`` prints.

    Args:
        plan: What was found.
        wall_s: How long it took.
        known: Configurations that an earlier search had looked at.
    """
    searched = plan.configurations - known
    head = (
        f"{plan.configurations:,} configurations, of which {plan.feasible:,} fit in memory; "
        f"{searched:,} searched in {wall_s:.1f} s ({searched / wall_s:,.0f} a second)"
    )
    parts: list[RenderableType] = [
        Text(f"{plan.scenario.job.model}: least {plan.objective}", style="bold"),
        Text(head, style="dim"),
    ]
    if not plan.complete:
        parts.append(Text("Interrupted: the best so far.", style="yellow"))
    parts += ["", Text(f"Alike in all: {alike(plan.best)}"), "", _table(plan)]
    parts.append(Text("/T: a trillion tokens, failures included; M: a million", style="dim"))
    parts += [*_doubts(plan), *_apart(plan), *_front(plan)]
    for name, reason in plan.left_out.items():
        parts.append(Text(f"Left out: {name}: {reason}", style="dim"))
    return Group(*parts)


def _table(plan: Plan) -> Table:
    choices = plan.best
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    told = differing(choices)
    per_token = "MWh/T" if plan.objective == "energy" else "MUSD/T"
    numbers = ("step", "slower", "MFU", "memory", per_token)
    for heading in ("", *told, *numbers):
        is_number = heading in numbers  # a number is never cut
        justify: Literal["left", "right"] = "right" if is_number else "left"
        title = HEADINGS.get(heading, heading)
        table.add_column(title, justify=justify, no_wrap=is_number, overflow="fold")
    for rank, choice in enumerate(choices, start=1):
        fields = fields_of(choice)
        slower = choice.step.duration_s / choices[0].step.duration_s - 1
        table.add_row(
            f"{rank}{_MARKS[choice.standing]}",
            *(show(fields[name]) for name in told),
            time(choice.step.duration_s),
            f"{slower:+.2%}" if rank > 1 else "",
            f"{choice.step.mfu:.1%}",
            format_quantity(choice.step.memory.total_bytes, SIZE),
            f"{choice.kwh_per_trillion_tokens / 1e3:,.0f}"
            if plan.objective == "energy"
            else musd(choice.usd_per_trillion_tokens),
        )
    return table


def _doubts(plan: Plan) -> list[RenderableType]:
    """Return how far to trust the best."""
    first = next((one for one in plan.best if not one.validity.inside), None)
    if first is None:
        return [Text("All lie in the range checked against measurements.", style="dim")]
    if first.standing == "outside":
        head = "None lies in the range checked against measurements; the first:"
        return ["", Text(head, style="yellow"), *_listed(first.validity.doubts)]
    head = "* Above what was measured: trust the order more than the number. The first:"
    return ["", Text(head, style="yellow"), *_listed(first.validity.doubts)]


def _apart(plan: Plan) -> list[RenderableType]:
    """Return what is not among the best, but should be known beside them."""
    parts: list[RenderableType] = []
    if plan.within is not None:
        head = f"The best at an MFU that was measured: {apart(plan, plan.within)}"
        parts += ["", Text(head)]
    if plan.outside is not None:
        head = f"Outside the checked range, and less sure: {apart(plan, plan.outside)}"
        parts += ["", Text(head, style="yellow"), *_listed(plan.outside.validity.doubts)]
    return parts


def _listed(doubts: Sequence[str]) -> list[RenderableType]:
    return [Padding(Text(f"- {doubt}", style="dim"), (0, 0, 0, 2)) for doubt in doubts]


def _front(plan: Plan) -> list[RenderableType]:
    """Return the front of time against cost, as a plot with its legend."""
    if len(plan.machines) < 2:
        return []
    if not plan.pareto:
        return ["", Text("No front of time against cost: the node has no price.", style="dim")]
    marks = {id(one.configuration): _letter(index) for index, one in enumerate(plan.pareto)}
    others = [one for one in plan.machines if id(one.configuration) not in marks]
    head = Text(
        f"Step time (across) against million USD a trillion tokens (up), {len(plan.machines)} "
        "machines at their best"
    )
    legend = [
        Text(
            f"{_letter(index)}{_MARKS[one.standing]} {time(one.step.duration_s)}, "
            f"{musd(one.usd_per_trillion_tokens)} million USD: {one.machine.name}"
        )
        for index, one in enumerate(plan.pareto)
    ]
    return ["", head, Text("\n".join(_plot(plan, others))), *legend, *_key(others)]


def _plot(plan: Plan, others: Sequence[PlannedConfiguration]) -> list[str]:
    # Machines far slower than the slowest of the front would squeeze it into a corner.
    slowest_s = plan.pareto[-1].step.duration_s
    dearest = max(one.usd_per_trillion_tokens or 0.0 for one in plan.pareto)
    near = [
        one
        for one in others
        if one.step.duration_s <= 1.5 * slowest_s
        and (one.usd_per_trillion_tokens or 0.0) <= 1.5 * dearest
    ]
    points = [_point(one, _other_mark(one)) for one in near]
    points += [_point(one, _letter(index)) for index, one in enumerate(plan.pareto)]
    return scatter(points, show_x=time, show_y=musd)


def _point(choice: PlannedConfiguration, mark: str) -> Mark:
    return Mark(choice.step.duration_s, choice.usd_per_trillion_tokens or 0.0, mark)


def _other_mark(choice: PlannedConfiguration) -> str:
    return _UNSURE if choice.standing == "outside" else _BEATEN


def _key(others: Sequence[PlannedConfiguration]) -> list[RenderableType]:
    kinds = {_other_mark(one) for one in others}
    said = {
        _BEATEN: f"{_BEATEN} slower and dearer than another",
        _UNSURE: f"{_UNSURE} outside the checked range",
    }
    return [Text(said[kind], style="dim") for kind in sorted(kinds)]


def _letter(index: int) -> str:
    return chr(ord("a") + index % 26)
