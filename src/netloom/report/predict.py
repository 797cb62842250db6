"""A predicted step as text: how long, and where the time goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.memory import held_line
from netloom.step.memory import needed_bytes
from netloom.step.software import switches_of, written_switch
from netloom.units import SIZE, TIME, format_count, format_quantity

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from netloom.spec.tuning import Tuning
    from netloom.step.model import Memory, Step
    from netloom.step.practice import Practice
    from netloom.study.predict.prediction import Prediction

__all__ = [
    "HEADINGS",
    "breakdown_rows",
    "headline",
    "memory_line",
    "memory_parts",
    "prediction_text",
    "published_lines",
    "software_line",
    "span",
    "title",
]

HEADINGS: Final = ("where the step goes", "time", "share", "hidden besides")
_BAR: Final = 40


def prediction_text(prediction: Prediction) -> RenderableType:
    """Return what ``netloom predict`` prints."""
    step = prediction.step
    parts: list[RenderableType] = [
        Text(title(prediction), style="bold"),
        Text(headline(step), style="green"),
        Text(software_line(prediction)),
        *map(Text, published_lines(prediction)),
        "",
        _breakdown(step),
        "",
        Text(memory_line(step.memory)),
    ]
    if prediction.seen:
        parts += ["", Text(f"Seen: {prediction.seen}.", style="dim")]
    if not step.validity.inside:
        parts += ["", Text("Outside the range checked against measurements:", style="dim")]
        parts += [Padding(Text(f"- {d}", style="dim"), (0, 0, 0, 2)) for d in step.validity.doubts]
    return Group(*parts)


def title(prediction: Prediction) -> str:
    """Return which job on which network."""
    design, technology = prediction.network.design, prediction.network.technology
    job = prediction.scenario.job
    what = f"{job.model}{_tuned(job.trained.tuning)}"
    return f"{what} on {format_count(design.num_gpus, 'GPU')}, {technology.name}"


def _tuned(tuning: Tuning) -> str:
    if not tuning.is_low_rank:
        return "" if tuning.method == "pretrain" else f", {tuning.method},"
    return f", {tuning.method} of rank {tuning.rank} on {'+'.join(tuning.modules)},"


def software_line(prediction: Prediction) -> str:
    """Return which software, and what the scenario changes of it."""
    given, practice = prediction.scenario.job.software, prediction.step.practice
    told = switches_of(practice)
    changed = [written_switch(name, told[name]) for name in given.switches()]
    default = [] if given.name else [_by_default(practice)]
    noted = f" ({', '.join([*changed, *default])})" if changed or default else ""
    return f"software {practice.title}{noted}"


def _by_default(practice: Practice) -> str:
    """Return that *practice* is assumed, and what its age costs most."""
    unfused = ", without FlashAttention" if practice.attention == "unfused" else ""
    return f"by default{unfused}; name yours in job.software"


def published_lines(prediction: Prediction) -> list[str]:
    """Return what was published of the same job, if the scenario says: one line, or none."""
    given, step = prediction.scenario.published, prediction.step
    if given is None:
        return []
    said = []
    if given.step_time_s is not None:
        off = step.duration_s / given.step_time_s - 1
        said.append(f"step {format_quantity(given.step_time_s, TIME)} (predicted {off:+.1%})")
    if given.mfu is not None:
        off = 100 * (step.mfu - given.mfu)
        said.append(f"MFU {given.mfu:.1%} (predicted {off:+.1f} points)")
    return [f"published {', '.join(said)}: {given.source}"]


def headline(step: Step) -> str:
    """Return the answer in one line."""
    return (
        f"step {format_quantity(step.duration_s, TIME, digits=4)} ({span(step)}), "
        f"MFU {step.mfu:.1%}, "
        f"HFU {step.hfu:.1%}, {step.tokens_per_s:,.0f} tokens/s"
    )


def span(step: Step, *, joint: str = " to ") -> str:
    """Return between which times a step is expected, in the unit of the later one."""
    found = step.interval
    if found is None:
        return "no interval"
    high = format_quantity(found.high_s, TIME)
    unit = high.lstrip("0123456789.e+-")
    return f"{found.low_s / TIME.units[unit]:.3g}{joint}{high}"


@dataclass(frozen=True, slots=True)
class _ShareBar:
    """A share as a bar; on a narrow terminal all bars of a column are shorter alike."""

    share: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("#" * round(self.share * min(_BAR, options.max_width)), style="blue")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, min(_BAR, options.max_width))


def _breakdown(step: Step) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (*HEADINGS, ""):
        right = heading in {"time", "share", "hidden besides"}
        table.add_column(heading, justify="right" if right else "left")
    for share, cells in breakdown_rows(step):
        table.add_row(*cells, _ShareBar(share))
    return table


def breakdown_rows(step: Step) -> list[tuple[float, tuple[str, ...]]]:
    """Return the parts of a step that take time: their share of it, and their cells."""
    hidden = {
        axis.value: step.communication_s.get(axis, 0.0) - exposed_s
        for axis, exposed_s in step.exposed_s.items()
    }
    rows: list[tuple[float, tuple[str, ...]]] = []
    for name, part_s in step.breakdown_s().items():
        besides_s = hidden.get(name.removeprefix("exposed_"), 0.0)
        if part_s == besides_s == 0:
            continue
        share = part_s / step.duration_s
        cells = (
            name.replace("_", " "),
            format_quantity(part_s, TIME),
            f"{share:.1%}",
            format_quantity(besides_s, TIME) if besides_s > 0 else "",
        )
        rows.append((share, cells))
    return rows


def memory_line(memory: Memory) -> str:
    """Return what a GPU holds."""
    line = held_line(memory_parts(memory), capacity_bytes=memory.capacity_bytes)
    more = needed_bytes(memory) - memory.total_bytes
    return f"{line}; {format_quantity(more, SIZE)} more for context, communicators and gaps"


def memory_parts(memory: Memory) -> dict[str, float]:
    """Return the bytes that a GPU holds, by what they are; states and activations always."""
    always = {"weights", "gradients", "optimizer", "activations"}
    return {name: size for name, size in memory.parts_bytes().items() if size or name in always}
