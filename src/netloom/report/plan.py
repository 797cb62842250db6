"""What a search found, as text: the best configurations and what tells them apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.study.plan import Choice, Plan

__all__ = ["plan_text"]

WIDTH: Final = 48
HEIGHT: Final = 12
_SHORT: Final = {
    "virtual_pipeline": "virtual",
    "micro_batch": "micro-batch",
    "sequence_parallel": "sequence parallel",
}
# As Megatron-LM's documentation abbreviates them.
_HEADINGS: Final = {
    "tensor": "TP",
    "pipeline": "PP",
    "virtual": "VPP",
    "context": "CP",
    "expert": "EP",
    "data": "DP",
    "micro-batch": "MBS",
    "zero": "ZeRO",
    "sequence parallel": "SP",
}


def plan_text(plan: Plan, *, wall_s: float, known: int = 0) -> RenderableType:
    """Return what ``netloom plan`` prints.

    Args:
        plan: What was found.
        wall_s: How long it took.
        known: Configurations that an earlier search had looked at.
    """
    searched = plan.configurations - known
    head = (
        f"{plan.configurations:,} configurations, {plan.feasible:,} fit in memory, "
        f"{searched:,} of them searched in {wall_s:.1f} s ({searched / wall_s:,.0f} a second)"
    )
    parts: list[RenderableType] = [
        Text(f"{plan.scenario.job.model}: least {plan.objective}", style="bold"),
        Text(head, style="dim"),
    ]
    if not plan.complete:
        parts.append(Text("Interrupted: the best so far.", style="yellow"))
    parts += ["", Text(f"Alike in all: {_alike(plan.best)}"), "", _table(plan)]
    parts.append(Text("/T: a trillion tokens, failures included", style="dim"))
    parts += [*_doubts(plan), *_outside(plan), *_front(plan.pareto)]
    for name, reason in plan.left_out.items():
        parts.append(Text(f"Left out: {name}: {reason}", style="dim"))
    return Group(*parts)


def _fields(choice: Choice) -> dict[str, Any]:
    """Return what a configuration can differ in."""
    own = asdict(choice.configuration)
    own.pop("machine")
    degrees = {_SHORT.get(name, name): value for name, value in own.items()}
    return {"machine": choice.machine.name, **degrees}


def _differing(choices: Sequence[Choice]) -> list[str]:
    rows = [_fields(choice) for choice in choices]
    return [name for name in rows[0] if len({row[name] for row in rows}) > 1]


def _alike(choices: Sequence[Choice]) -> str:
    differing = _differing(choices)
    common = {name: v for name, v in _fields(choices[0]).items() if name not in differing}
    return ", ".join(f"{name} {_show(value)}" for name, value in common.items())


def _table(plan: Plan) -> Table:
    choices = plan.best
    table = Table(box=None, pad_edge=False, header_style="bold")
    differing = _differing(choices)
    per_token = "MWh/T" if plan.objective == "energy" else "USD/T"
    numbers = ("step", "slower", "MFU", "memory", per_token)
    for heading in ("", *differing, *numbers):
        is_number = heading in numbers  # a number is never cut
        justify: Literal["left", "right"] = "right" if is_number else "left"
        title = _HEADINGS.get(heading, heading)
        table.add_column(title, justify=justify, no_wrap=is_number, overflow="fold")
    for rank, choice in enumerate(choices, start=1):
        fields = _fields(choice)
        slower = choice.step.duration_s / choices[0].step.duration_s - 1
        table.add_row(
            str(rank),
            *(_show(fields[name]) for name in differing),
            format_quantity(choice.step.duration_s, TIME, digits=4),
            f"{slower:+.2%}" if rank > 1 else "",
            f"{choice.step.mfu:.1%}",
            format_quantity(choice.step.memory.total_bytes, SIZE),
            f"{choice.kwh_per_trillion_tokens / 1e3:,.0f}"
            if plan.objective == "energy"
            else _usd(choice.usd_per_trillion_tokens),
        )
    return table


def _doubts(plan: Plan) -> list[RenderableType]:
    """Return the validity of the best: all of them are inside, or none is."""
    doubts = plan.best[0].step.validity.doubts
    if not doubts:
        return [Text("All lie in the range checked against measurements.", style="dim")]
    head = Text("None lies in the range checked against measurements; the first:", style="yellow")
    return ["", head, *_listed(doubts)]


def _outside(plan: Plan) -> list[RenderableType]:
    """Return the configuration that would win if the model held outside its checked range."""
    if plan.outside is None:
        return []
    choice, best = plan.outside, plan.best[0]
    longer = choice.step.duration_s / best.step.duration_s - 1
    what = ", ".join(
        f"{name} {_show(_fields(choice)[name])}" for name in _differing((best, choice))
    )
    head = (
        f"Outside the checked range, {what} takes "
        f"{format_quantity(choice.step.duration_s, TIME, digits=4)} ({longer:+.2%}); "
        "its numbers are less sure:"
    )
    return ["", Text(head, style="yellow"), *_listed(choice.step.validity.doubts)]


def _listed(doubts: Sequence[str]) -> list[RenderableType]:
    return [Padding(Text(f"- {doubt}", style="dim"), (0, 0, 0, 2)) for doubt in doubts]


def _front(front: Sequence[Choice]) -> list[RenderableType]:
    """Return the front of time against cost, as a plot with its legend."""
    if len(front) < 2:
        return []
    head = Text("Fastest for the money: step time (across) against USD a trillion tokens (up)")
    legend = [
        Text(
            f"{_mark(index)} {format_quantity(one.step.duration_s, TIME, digits=4)}, "
            f"{_usd(one.usd_per_trillion_tokens)} USD: {one.machine.name}"
        )
        for index, one in enumerate(front)
    ]
    return ["", head, Text("\n".join(_plot(front))), *legend]


def _plot(front: Sequence[Choice]) -> list[str]:
    times = [one.step.duration_s for one in front]
    costs = [one.usd_per_trillion_tokens or 0.0 for one in front]
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for index, (time_s, usd) in enumerate(zip(times, costs, strict=True)):
        column = round((WIDTH - 1) * (time_s - times[0]) / (times[-1] - times[0]))
        row = round((HEIGHT - 1) * (costs[0] - usd) / (costs[0] - costs[-1]))
        grid[row][column] = _mark(index)
    return ["|" + "".join(line) for line in grid] + ["+" + "-" * WIDTH]


def _mark(index: int) -> str:
    return chr(ord("a") + index % 26)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.0f}"
