"""What a search found, as a self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.report.compare.figures import COLOURS, new_layout
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
from netloom.units import POWER, SIZE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.study.plan.result import Plan, PlannedConfiguration

__all__ = ["plan_page"]

Figure = dict[str, Any]


def plan_page(plan: Plan) -> str:
    """Return the page as one string of HTML."""
    figures = _figures(plan)
    best = plan.best[0]
    told = differing(plan.best)
    return render(
        "plan.html.j2",
        plots={key: figure for key, _, _, figure in figures},
        plan=plan,
        title=plan.scenario.name or f"{plan.scenario.job.model}: how to run it",
        subtitle=_subtitle(plan),
        answer=_answer(best),
        numbers=_numbers(best),
        within=None if plan.within is None else apart(plan, plan.within),
        outside=None if plan.outside is None else apart(plan, plan.outside),
        alike=alike(plan.best),
        headings=["", *(HEADINGS.get(name, name) for name in told), *_NUMBERS],
        rows=[_row(rank, one, best, told) for rank, one in enumerate(plan.best, start=1)],
        figures=[(key, heading, caption) for key, heading, caption, _ in figures],
        machine_headings=_MACHINE,
        machines=[(_on_front(plan, one), _machine_row(one)) for one in _by_time(plan)],
        trust=_trust(plan),
        counted=f"{plan.configurations:,} configurations were looked at; {plan.feasible:,} fit.",
    )


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


def _on_front(plan: Plan, one: PlannedConfiguration) -> bool:
    return one in plan.pareto


def _figures(plan: Plan) -> list[tuple[str, str, str, Figure]]:
    """Return each figure with its id, heading and caption."""
    found = [
        (
            "parts",
            "Where the step goes",
            "The ten best, by rank. Exposed is communication that no computation hides.",
            _parts(plan),
        )
    ]
    if len(plan.machines) > 1 and plan.pareto:
        caption = (
            "Every machine at its fastest. The line joins those that no other beats in both; open "
            "circles lie outside the range checked against measurements. Lower left is better."
        )
        found.insert(0, ("front", "Time against cost", caption, _front(plan)))
    return found


def _front(plan: Plan) -> Figure:
    others = [
        one for one in plan.machines if one.usd_per_trillion_tokens and one not in plan.pareto
    ]
    sure = [one for one in others if one.standing != "outside"]
    unsure = [one for one in others if one.standing == "outside"]
    layout = new_layout("seconds of a step", "million USD per trillion tokens")
    traces = [
        _points(unsure, "outside the checked range", "circle-open", "#9ca3af"),
        _points(sure, "slower and dearer than another", "circle", "#9ca3af"),
        _points(plan.pareto, "no other is both faster and cheaper", "circle", COLOURS[0])
        | {"mode": "lines+markers", "line": {"color": COLOURS[0], "width": 2, "shape": "hv"}},
    ]
    return {"data": [trace for trace in traces if trace["x"]], "layout": layout}


def _points(choices: Sequence[PlannedConfiguration], name: str, symbol: str, colour: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [one.step.duration_s for one in choices],
        "y": [(one.usd_per_trillion_tokens or 0.0) / 1e6 for one in choices],
        "text": [one.machine.name for one in choices],
        "marker": {
            "size": 10,
            "symbol": symbol,
            "color": colour,
            "line": {"width": 2, "color": colour},
        },
        "hovertemplate": "%{text}<br>%{x:.4g} s, %{y:.3f} million USD<extra></extra>",
    }


def _parts(plan: Plan) -> Figure:
    """Return the seconds of a step by what they are spent on, a bar a rank."""
    breakdowns = [choice.step.breakdown_s() for choice in plan.best]
    parts = [part for part in breakdowns[0] if any(one[part] > 0 for one in breakdowns)]
    ranks = [str(rank) for rank in range(1, len(breakdowns) + 1)]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part.replace("_", " "),
            "y": ranks,
            "x": [one[part] for one in breakdowns],
            "marker": {"color": COLOURS[index % len(COLOURS)]},
            "hovertemplate": "%{x:.3f} s<extra>" + part.replace("_", " ") + "</extra>",
        }
        for index, part in enumerate(parts)
    ]
    layout = new_layout("seconds of a step", "rank")
    layout |= {"barmode": "stack"}
    layout["legend"] |= {"traceorder": "normal"}
    layout["yaxis"] |= {"autorange": "reversed", "type": "category"}
    return {"data": traces, "layout": layout}


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
