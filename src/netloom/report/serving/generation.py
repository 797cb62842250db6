"""Pictures and films made on request, as text and as a page, by GPUs that share a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.charts import SECONDS, BarPart, Bars, ChartAxis, Figure
from netloom.report.html import render
from netloom.report.memory import held_line
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page, trust_fold
from netloom.units import TIME, format_count, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.step.generation.service import GenerationService
    from netloom.study.serving.generation import GenerationStudy

__all__ = ["generation_page", "generation_text"]


def generation_text(found: GenerationStudy) -> RenderableType:
    """Return what ``netloom infer`` prints of a diffusion model."""
    own = found.own
    parts: list[RenderableType] = [
        Text(_title(found), style="bold"),
        Text(_asked(found), style="dim"),
        Text(_headline(found), style="green"),
        Text(_way(own)),
        "",
        Text(_spent(own)),
        Text(_memory(own)),
        "",
        _by_gpus(found),
    ]
    parts += [Text(f"{name} GPUs cannot: {why}", style="dim") for name, why in found.refused]
    parts += ["", Text("Outside the range checked against measurements:", style="dim")]
    parts += [Padding(Text(f"- {d}", style="dim"), (0, 0, 0, 2)) for d in own.validity.doubts]
    return Group(*parts)


def generation_page(found: GenerationStudy) -> str:
    """Return the page as one string of HTML."""
    own = found.own
    refused = tuple(Item(name=f"{name} GPUs:", text=why) for name, why in found.refused)
    table = HtmlTable(
        title="GPUs that share a request",
        caption="The same request on more GPUs of a node; what the scenario asks for stands out.",
        headings=("GPUs a request", "latency", f"{found.made}s/s per GPU", f"{found.made}s/s"),
        rows=[_cells(one) for one in found.ways],
        marked=frozenset(row for row, one in enumerate(found.ways) if one == own),
        notes=("Any number down to its constants: netloom infer --why.",),
        folds=(
            trust_fold([(found.model.name, own.validity.doubts)]),
            *((Fold(summary=f"{len(refused)} left out", items=refused),) if refused else ()),
        ),
    )
    page = Page(
        title=found.scenario.name or _title(found),
        subtitle=_asked(found),
        answer=AnswerBox(
            heading=f"On {_gpus(own.gpus_per_instance)} a request",
            headline=_headline(found),
            lines=(_way(own),),
            reasons=(_spent(own), _memory(own)),
        ),
        sections=(table, Gallery(figures=(_figure(found),))),
    )
    return render(page)


def _gpus(count: int) -> str:
    return format_count(count, "GPU")


def _title(found: GenerationStudy) -> str:
    return f"{found.model.name} on {_gpus(found.own.num_gpus)}"


def _asked(found: GenerationStudy) -> str:
    asked = found.own.asked
    frames = f" of {asked.frames:,} frames" if asked.frames > 1 else ""
    return (
        f"{found.made}s of {asked.width:,} x {asked.height:,} pixels{frames}, {asked.steps:,} "
        f"steps, batch {asked.batch:,}, {asked.precision}, {asked.mode}, {asked.attention}"
    )


def _headline(found: GenerationStudy) -> str:
    own = found.own
    made = f"{found.made}s/s"
    return (
        f"{_time(own.latency_s)} a request, {own.requests_per_s_per_gpu:,.4g} {made} per GPU "
        f"({own.requests_per_s:,.4g} in all)"
    )


def _way(own: GenerationService) -> str:
    idle = f", {_gpus(own.idle_gpus)} idle" if own.idle_gpus else ""
    instances = format_count(own.num_instances, "instance")
    return f"{instances} of {_gpus(own.gpus_per_instance)}{idle}"


def _spent(own: GenerationService) -> str:
    step = own.step
    waits = {"exchange of heads": step.exchange_s, "guidance": step.guidance_s}
    listed = "".join(f", {name} {_time(time_s)}" for name, time_s in waits.items() if time_s)
    return (
        f"a step {_time(step.total_s)}: kernels {_time(step.compute_s)}, of it attention "
        f"{_time(step.attention_s)}{listed}; text encoder {_time(own.encoder_s)}, decoder "
        f"{_time(own.decoder_s) if own.decoder_s else 'not counted'}"
    )


def _memory(own: GenerationService) -> str:
    held = own.memory
    parts_bytes = {
        "weights": held.weights_bytes,
        "text encoder": held.encoder_bytes,
        "activations": held.activations_bytes,
        "reserved": held.reserved_bytes,
    }
    return held_line(parts_bytes, capacity_bytes=held.capacity_bytes)


def _by_gpus(found: GenerationStudy) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("GPUs a request")
    for heading in ("latency", f"{found.made}s/s/GPU", f"{found.made}s/s"):
        table.add_column(heading, justify="right")
    for one in found.ways:
        table.add_row(*_cells(one), style="green" if one == found.own else "")
    return table


def _cells(one: GenerationService) -> list[str]:
    split = ", guidance apart" if one.asked.guidance_parallel else ""
    return [
        f"{one.gpus_per_instance:,}{split}",
        _time(one.latency_s),
        f"{one.requests_per_s_per_gpu:,.4g}",
        f"{one.requests_per_s:,.4g}",
    ]


def _figure(found: GenerationStudy) -> Figure:
    ways = found.ways

    def part(name: str, values: list[float]) -> BarPart:
        return BarPart(name=name, values=tuple(values))

    return Figure(
        key="latency",
        title="Where a request's time goes",
        caption="By GPUs that share a request. Text encoder and decoder run on one of them.",
        chart=Bars(
            axis=ChartAxis(title="latency", unit=SECONDS, from_zero=True),
            rows="GPUs a request",
            labels=tuple(_cells(one)[0] for one in ways),
            parts=(
                part("text encoder", [one.encoder_s for one in ways]),
                part("kernels", [one.asked.steps * one.step.compute_s for one in ways]),
                part(
                    "exchange",
                    [one.asked.steps * (one.step.exchange_s + one.step.guidance_s) for one in ways],
                ),
                part("decoder", [one.decoder_s for one in ways]),
            ),
        ),
    )


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=4)
