"""A predicted step as text: how long, and where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.memory import held_line
from netloom.step.memory import RESERVED_BYTES
from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.step.model import Memory, Step
    from netloom.study.predict.prediction import Prediction

__all__ = ["prediction_text"]

_BAR = 40


def prediction_text(prediction: Prediction) -> RenderableType:
    """Return what ``netloom predict`` prints."""
    step, design = prediction.step, prediction.network.design
    title = (
        f"{prediction.scenario.job.model} on {design.num_gpus:,} GPUs, "
        f"{prediction.network.technology.name}"
    )
    headline = (
        f"step {format_quantity(step.duration_s, TIME, digits=4)}, MFU {step.mfu:.1%}, "
        f"HFU {step.hfu:.1%}, {step.tokens_per_s:,.0f} tokens/s"
    )
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(headline, style="green"),
        "",
        _breakdown(step),
        "",
        Text(_memory(step.memory)),
    ]
    if not step.validity.inside:
        parts += ["", Text("Outside the range checked against measurements:", style="dim")]
        parts += [Padding(Text(f"- {d}", style="dim"), (0, 0, 0, 2)) for d in step.validity.doubts]
    return Group(*parts)


def _breakdown(step: Step) -> Table:
    hidden = {
        axis.value: step.communication_s.get(axis, 0.0) - exposed_s
        for axis, exposed_s in step.exposed_s.items()
    }
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("where the step goes", "time", "share", "hidden besides", ""):
        right = heading in {"time", "share", "hidden besides"}
        table.add_column(heading, justify="right" if right else "left")
    for name, part_s in step.breakdown_s().items():
        besides_s = hidden.get(name.removeprefix("exposed_"), 0.0)
        if part_s == besides_s == 0:
            continue
        share = part_s / step.duration_s
        table.add_row(
            name.replace("_", " "),
            format_quantity(part_s, TIME),
            f"{share:.1%}",
            format_quantity(besides_s, TIME) if besides_s > 0 else "",
            Text("#" * round(share * _BAR), style="blue"),
        )
    return table


def _memory(memory: Memory) -> str:
    parts_bytes = {
        "weights": memory.weights_bytes,
        "gradients": memory.gradients_bytes,
        "optimizer": memory.optimizer_bytes,
        "activations": memory.activations_bytes,
    }
    line = held_line(parts_bytes, capacity_bytes=memory.capacity_bytes)
    return f"{line}; {format_quantity(RESERVED_BYTES, SIZE)} more for context and buffers"
