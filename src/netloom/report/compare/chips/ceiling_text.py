"""The ceiling of lossless Ethernet, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.report.compare.chips.text import reach
from netloom.study.compare.chips.ceiling import BEARABLE, FAN_INS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.study.compare.chips.ceiling import Ceiling, ChipReach

__all__ = [
    "REACH_HEADINGS",
    "broken_by",
    "ceiling_lines",
    "ceiling_text",
    "reach_row",
    "sweep_words",
]

REACH_HEADINGS = ("chip", "90% to GPUs", "times RoCEv2", "incast borne", "paths", "kind")


def reach_row(one: ChipReach, found: Ceiling) -> list[str]:
    """Return one row of the table of reaches."""
    base = found.baseline.limit_gpus or 1
    return [
        one.chip.name,
        reach(one.chip),
        f"{(one.limit_gpus or 0) / base:.1f}x",
        f"{'>=' if one.incast_limit == FAN_INS[-1] else ''}{one.incast_limit} to 1",
        f"{one.chip.runs.path_share:.0%}",
        "RoCEv2" if one is found.baseline else "single change" if one.is_single else "redesign",
    ]


def ceiling_lines(found: Ceiling) -> tuple[str, ...]:
    """Return the answer: where it stops, what moves it most, what else breaks it."""
    base, best = found.baseline, found.best_single
    times = (best.limit_gpus or 0) / (base.limit_gpus or 1)
    scaling = base.chip.candidate.scaling
    cause = {
        "efficiency": "the step then waits for collided flows",
        "network": "no larger network can be built of it",
        "addresses": "it can name no more end points",
        "range": "nothing larger was tried",
    }[scaling.limit_reason]
    first = (
        f"RoCEv2 with PFC and DCQCN keeps 90 % of its efficiency on this job up to "
        f"{base.limit_gpus or 0:,} GPUs: {cause}."
    )
    if best is base:
        second = "No single change moves that."
    else:
        second = (
            f"The single change that moves it most is {best.chip.name}, to "
            f"{best.limit_gpus or 0:,} GPUs ({times:.1f} times)."
        )
    return first, second


def broken_by(found: Ceiling) -> tuple[str, ...]:
    """Return what else breaks lossless Ethernet, and what moves each."""
    base, calm = found.baseline, found.best_incast
    rate = found.headroom[-1] if found.headroom else None
    worst = found.losses[-2]
    incast = (
        f"Incast: beside {base.incast_limit} senders to one an innocent flow still takes less "
        f"than {BEARABLE:g} times its own time; of single changes {calm.chip.name} bears most, "
        f"{calm.incast_limit}."
    )
    loss = (
        f"Loss: at {worst.loss:g} a link go-back-N leaves {worst.go_back_n:.0%} of a path's rate, "
        f"link-level retry {worst.retried:.1%}."
    )
    lines = [incast, loss]
    if rate is not None:
        lines.append(
            f"Headroom: at {rate.rate_bps / 1e9:.0f} Gb/s cables longer than {rate.length_m:,.0f} "
            "m leave less than half of the memory to share."
        )
    return tuple(lines)


def sweep_words(found: Ceiling) -> list[tuple[str, str]]:
    """Return each knob with what turning it from end to end does."""
    rows = []
    for sweep in found.sweeps:
        done = [point for point in sweep.points if not point.reason]
        if not done:
            continue
        first, last = done[0], done[-1]
        values = f"{first.value:g} to {last.value:g} {sweep.knob.unit}".rstrip()
        if first.limit_gpus is not None and last.limit_gpus is not None:
            effect = f"GPUs {first.limit_gpus:,} to {last.limit_gpus:,}"
        else:
            effect = (
                f"paths {first.path_share or 0:.0%} to {last.path_share or 0:.0%}, innocent "
                f"{first.victim_slowdown or 0:.1f}x to {last.victim_slowdown or 0:.1f}x"
            )
        rows.append((f"{sweep.knob.title} ({sweep.knob.chip}), {values}", effect))
    return rows


def ceiling_text(found: Ceiling) -> RenderableType:
    """Return what ``netloom compare --chips --ceiling`` prints."""
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    for index, name in enumerate(REACH_HEADINGS):
        words = index in (0, len(REACH_HEADINGS) - 1)
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    for one in found.reaches:
        style = "bold" if one is found.baseline else "green" if one is found.best_single else ""
        table.add_row(*reach_row(one, found), style=style)
    knobs = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    knobs.add_column("knob, one at a time")
    knobs.add_column("what it does")
    for row in sweep_words(found):
        knobs.add_row(*row)
    return Group(
        Text(f"Ceiling of lossless Ethernet: {found.compared.title}", style="bold"),
        Text(found.compared.subtitle, style="dim"),
        "",
        *(Text(line, style="green") for line in ceiling_lines(found)),
        *(Text(f"- {line}") for line in broken_by(found)),
        "",
        table,
        "",
        knobs,
    )
