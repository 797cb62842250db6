"""What a search found, as a self-contained page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.report.charts import GREY, MONEY, SECONDS, ChartAxis, Figure, Plot, Series
from netloom.report.compare.figures import time_by_part
from netloom.report.html import render
from netloom.report.plan.words import (
    HEADINGS,
    alike,
    apart,
    differing,
    fields_of,
    musd,
    say,
    show,
    time,
)
from netloom.report.sections import (
    AnswerBox,
    Fold,
    Gallery,
    HtmlTable,
    Item,
    Listing,
    Page,
    doubts_fold,
    trust_fold,
)
from netloom.units import POWER, SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.plan.result import Plan, PlannedConfiguration

__all__ = ["plan_page"]


def plan_page(plan: Plan) -> str:
    """Return the page as one string of HTML."""
    page = Page(
        title=plan.scenario.name or f"{plan.scenario.job.model}: how to run it",
        subtitle=_subtitle(plan),
        answer=_first(plan),
        sections=tuple(
            section
            for section in (
                _best_table(plan),
                Gallery(figures=_figures(plan)),
                _machines_table(plan),
                _left_out(plan),
            )
            if section is not None
        ),
    )
    return render(page)


def _first(plan: Plan) -> AnswerBox:
    """Return the best, and what would be better or surer."""
    best = plan.best[0]
    within = plan.within
    lines = [_numbers(best)]
    if within is not None:
        lines.append(f"The best at an MFU that was measured: {apart(plan, within)}.")
    stopped = "The search was interrupted: this is the best so far."
    outside = () if plan.outside is None else (_outside(plan, plan.outside),)
    return AnswerBox(
        heading=f"Least {plan.objective}",
        headline=_answer(best),
        lines=tuple(lines),
        notes=() if plan.complete else (stopped,),
        folds=(*doubts_fold(best.validity.doubts), *outside),
    )


def _outside(plan: Plan, choice: PlannedConfiguration) -> Fold:
    return Fold(
        summary="Better, but outside the checked range",
        lead=apart(plan, choice),
        items=tuple(Item(text=doubt) for doubt in choice.validity.doubts),
    )


def _best_table(plan: Plan) -> HtmlTable:
    best, told = plan.best[0], differing(plan.best)
    return HtmlTable(
        title="The ten best",
        caption=(
            f"Alike in all: {alike(plan.best)}. Differences of a percent or two are below the "
            "error of the step model."
        ),
        headings=("rank", *(HEADINGS.get(name, name) for name in told), *_NUMBERS),
        rows=[_row(rank, one, best, told) for rank, one in enumerate(plan.best, start=1)],
        marked=frozenset({0}),
        notes=(
            (
                "Money: a trillion tokens, nodes, network and power over their lifetime, failures "
                "included. Bubble and exposed: shares of the step. Checked: inside the range "
                "checked against measurements; above it only in that no published step reached the "
                "MFU, so that the order is surer than the number; or outside."
            ),
            (
                f"{plan.configurations:,} configurations were looked at; {plan.feasible:,} fit. "
                "Each of the best was predicted once more by itself, as netloom predict does; the "
                "two agree to 1e-9."
            ),
        ),
        folds=(trust_fold((names, one.validity.doubts) for names, one in _trust(plan)),),
    )


def _machines_table(plan: Plan) -> HtmlTable | None:
    if len(plan.machines) < 2:
        return None
    machines = _by_time(plan)
    return HtmlTable(
        title="Every machine at its best",
        caption=(
            "Marked: no other is both faster and cheaper. On one machine cost is proportional to "
            "time, so that its fastest configuration is also its cheapest."
        ),
        headings=_MACHINE,
        rows=[_machine_row(one) for one in machines],
        marked=frozenset(row for row, one in enumerate(machines) if one in plan.pareto),
    )


def _left_out(plan: Plan) -> Listing | None:
    if not plan.left_out:
        return None
    items = tuple(Item(name=f"{name}:", text=reason) for name, reason in plan.left_out.items())
    return Listing(title="Left out", items=items)


def _subtitle(plan: Plan) -> str:
    training = plan.scenario.job.trained
    return (
        f"{plan.scenario.cluster.node}; sequence {training.sequence:,}, global batch "
        f"{training.global_batch:,}, {training.precision}; {len(plan.machines)} "
        f"{'machine' if len(plan.machines) == 1 else 'machines'} tried"
    )


def _answer(best: PlannedConfiguration) -> str:
    fields = fields_of(best)
    degrees = ("tensor", "pipeline", "virtual", "context", "expert", "data", "micro-batch")
    some = [name for name in degrees if fields[name] != 1 or name == "micro-batch"]
    return f"{best.machine.name}; {say(best, [*some, 'recompute', 'zero', 'sequence parallel'])}"


def _numbers(best: PlannedConfiguration) -> str:
    usd = best.usd_per_trillion_tokens
    money = "" if usd is None else f"; {usd / 1e6:,.3f} million USD a trillion tokens"
    return (
        f"{time(best.step.duration_s)} a step, MFU {best.step.mfu:.1%}, "
        f"{best.step.tokens_per_s:,.0f} tokens/s, "
        f"{format_quantity(best.step.memory.total_bytes, SIZE)} of GPU memory{money}"
    )


_NUMBERS: Final = (
    "step",
    "slower",
    "MFU",
    "bubble",
    "exposed",
    "memory",
    "MUSD/Ttok",
    "MWh/Ttok",
    "checked",
)


def _row(
    rank: int, choice: PlannedConfiguration, best: PlannedConfiguration, told: Sequence[str]
) -> list[str]:
    fields, step = fields_of(choice), choice.step
    return [
        str(rank),
        *(show(fields[name]) for name in told),
        time(step.duration_s),
        f"{step.duration_s / best.step.duration_s - 1:+.2%}" if rank > 1 else "",
        f"{step.mfu:.1%}",
        f"{step.bubble_s / step.duration_s:.1%}",
        f"{step.exposed_share:.1%}",
        format_quantity(step.memory.total_bytes, SIZE),
        musd(choice.usd_per_trillion_tokens),
        f"{choice.kwh_per_trillion_tokens / 1e3:,.0f}",
        choice.standing,
    ]


_MACHINE: Final = (
    "machine",
    "step",
    "MFU",
    "MUSD/Ttok",
    "capital, MUSD",
    "power",
    "goodput",
    "division",
    "checked",
)


def _machine_row(one: PlannedConfiguration) -> list[str]:
    fields = fields_of(one)
    degrees = ("tensor", "pipeline", "virtual", "context", "expert", "data")
    divided = [f"{HEADINGS[name]}{fields[name]}" for name in degrees if fields[name] != 1]
    return [
        one.machine.name,
        time(one.step.duration_s),
        f"{one.step.mfu:.1%}",
        musd(one.usd_per_trillion_tokens),
        musd(one.machine.capex_usd),
        format_quantity(one.machine.power_w, POWER),
        f"{one.machine.goodput:.1%}",
        " ".join(divided) or "one GPU",
        one.standing,
    ]


def _by_time(plan: Plan) -> list[PlannedConfiguration]:
    return sorted(plan.machines, key=lambda one: one.step.duration_s)


def _figures(plan: Plan) -> tuple[Figure, ...]:
    parts = Figure(
        key="parts",
        title="Where the step goes",
        caption="The ten best, by rank. Exposed is communication that no computation hides.",
        chart=time_by_part(
            {str(rank): one.step.breakdown_s() for rank, one in enumerate(plan.best, start=1)},
            rows="rank",
            axis="time of a step",
        ),
    )
    if len(plan.machines) < 2 or not plan.pareto:
        return (parts,)
    front = Figure(
        key="front",
        title="Time against cost",
        caption=(
            "Every machine at its fastest. The line joins those that no other beats in both; open "
            "marks lie outside the range checked against measurements. Lower left is better."
        ),
        chart=_front(plan),
    )
    return (front, parts)


def _front(plan: Plan) -> Plot:
    others = [
        one for one in plan.machines if one.usd_per_trillion_tokens and one not in plan.pareto
    ]
    sure = [one for one in others if one.standing != "outside"]
    unsure = [one for one in others if one.standing == "outside"]
    beaten = _points(sure, "slower and dearer than another")
    best = _points(plan.pareto, "no other is both faster and cheaper")
    return Plot(
        x=ChartAxis(title="time of a step", unit=SECONDS),
        y=ChartAxis(title="cost per trillion tokens", unit=MONEY),
        series=(
            replace(
                _points(unsure, "outside the checked range"),
                mark="square",
                hollow=(True,) * len(unsure),
            ),
            replace(beaten, mark="square"),
            replace(best, hue=0, join="step", mark="circle"),
        ),
    )


def _points(choices: Sequence[PlannedConfiguration], name: str) -> Series:
    return Series(
        name=name,
        x=tuple(one.step.duration_s for one in choices),
        y=tuple(one.usd_per_trillion_tokens or 0.0 for one in choices),
        hue=GREY,
        join="none",
        notes=tuple(one.machine.name for one in choices),
    )


def _trust(plan: Plan) -> list[tuple[str, PlannedConfiguration]]:
    """Return the best and the machines, those that share all doubts together."""
    named = [(f"rank {rank}", one) for rank, one in enumerate(plan.best, start=1)]
    if len(plan.machines) > 1:
        named += [(one.machine.name, one) for one in plan.machines]
    sharing: dict[tuple[str, ...], list[str]] = {}
    example: dict[tuple[str, ...], PlannedConfiguration] = {}
    for name, one in named:
        key = tuple(_kind(doubt) for doubt in one.validity.doubts)
        sharing.setdefault(key, []).append(name)
        example.setdefault(key, one)
    return [("; ".join(names), example[key]) for key, names in sharing.items()]


def _kind(doubt: str) -> str:
    """Return a doubt without its numbers: configurations that share it differ in those."""
    return "".join(letter for letter in doubt if not letter.isdigit())
