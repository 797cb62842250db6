"""A service as a self-contained page: how fast it answers, technology by technology."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.report.charts import SECONDS, BarPart, Bars, ChartAxis, Figure
from netloom.report.compare.figures import time_by_part
from netloom.report.html import render
from netloom.report.sections import AnswerBox, Fold, Gallery, HtmlTable, Item, Page, trust_fold
from netloom.report.serving.text import headline, memory_line, pools_line
from netloom.units import SIZE, TIME, format_count, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.step.serving_pass import PassDuration
    from netloom.study.serving.inference import Inference, Served

__all__ = ["inference_page"]

HEADINGS = (
    "technology",
    "first token",
    "a token",
    "request",
    "tokens/s per GPU",
    "tokens/s",
    "cache sent",
    "of it exposed",
)


def inference_page(found: Inference) -> str:
    """Return the page as one string of HTML."""
    service = found.own.service
    shown = _shown(found)
    page = Page(
        title=found.scenario.name
        or f"{found.model.name} served on {format_count(service.num_gpus, 'GPU')}",
        subtitle=_subtitle(found),
        answer=AnswerBox(
            heading=f"On {found.own.name}",
            headline=headline(service),
            lines=(pools_line(service),),
            reasons=(
                memory_line("prefill", service.prefill_memory),
                memory_line("decode", service.decode_memory),
                f"an instance has room for a batch of {service.decode_memory.max_requests:,}",
            ),
        ),
        sections=(_technologies(found, shown), Gallery(figures=_figures(shown))),
    )
    return render(page)


def _technologies(found: Inference, shown: Sequence[Served]) -> HtmlTable:
    left_out = tuple(Item(name=f"{name}:", text=reason) for name, reason in found.refused)
    return HtmlTable(
        title="Technologies",
        caption="The same service over each network; the cluster's own stands out.",
        headings=HEADINGS,
        rows=[_row(one) for one in shown],
        marked=frozenset(row for row, one in enumerate(shown) if one.name == found.own.name),
        notes=("Any number down to its constants: netloom infer --why.",),
        folds=(
            trust_fold(_trust(shown)),
            *((Fold(summary=f"{len(left_out)} left out", items=left_out),) if left_out else ()),
        ),
    )


def _shown(found: Inference) -> list[Served]:
    """Return the cluster's own technology, where it is not among those to compare, and those."""
    names = [one.name for one in found.others]
    return [*found.others] if found.own.name in names else [found.own, *found.others]


def _subtitle(found: Inference) -> str:
    serving = found.serving
    return (
        f"{found.model.name}; {format_count(found.own.service.num_gpus, 'GPU')} "
        f"({found.scenario.cluster.node}); {serving.prompt:,} tokens in, {serving.output:,} out, "
        f"batch {serving.batch:,}, {serving.precision}; keys and values "
        f"{format_quantity(found.cache_bytes_per_token, SIZE)} a token"
    )


def _row(one: Served) -> list[str]:
    service, transfer = one.service, one.service.transfer
    return [
        one.name,
        _time(service.time_to_first_token_s),
        _time(service.time_per_token_s),
        _time(service.request_s),
        f"{service.tokens_per_s_per_gpu:,.1f}",
        f"{service.tokens_per_s:,.0f}",
        _time(transfer.total_s) if transfer else "-",
        _time(transfer.exposed_s) if transfer else "-",
    ]


def _figures(shown: Sequence[Served]) -> tuple[Figure, ...]:
    found = [
        Figure(
            key="first",
            title="Time to first token",
            caption=(
                "The prompt's pass through all stages, and what is exposed of sending its keys on."
            ),
            chart=_bars(
                shown,
                ChartAxis(title="time to first token", unit=SECONDS, from_zero=True),
                lambda one: one.service.time_to_first_token_s,
            ),
        ),
        Figure(
            key="token",
            title="Time per token",
            caption="Every further token of one request, while the whole batch decodes.",
            chart=_bars(
                shown,
                ChartAxis(title="time per token", unit=SECONDS, from_zero=True),
                lambda one: one.service.time_per_token_s,
            ),
        ),
        Figure(
            key="rate",
            title="Tokens per second and GPU",
            caption="Of all GPUs, those that read prompts included. More is better.",
            chart=_bars(
                shown,
                ChartAxis(title="tokens/s per GPU", from_zero=True),
                lambda one: one.service.tokens_per_s_per_gpu,
            ),
        ),
        Figure(
            key="prefill",
            title="Where a prompt's pass goes",
            caption="All stages together: computation, and what it waits for by axis.",
            chart=_stacked(shown, lambda one: one.service.prefill),
        ),
        Figure(
            key="decode",
            title="Where a decode step goes",
            caption="All stages together: computation, and what it waits for by axis.",
            chart=_stacked(shown, lambda one: one.service.decode),
        ),
    ]
    if all(one.service.transfer for one in shown):
        found.append(_transfer_figure(shown))
    return tuple(found)


def _transfer_figure(shown: Sequence[Served]) -> Figure:
    return Figure(
        key="cache",
        title="Sending keys and values",
        caption=(
            "From the instance that read the prompt to the one that decodes; most of it hides "
            "behind the pass itself."
        ),
        chart=_bars(
            shown, ChartAxis(title="time to send them", unit=SECONDS, from_zero=True), _transfer_s
        ),
    )


def _transfer_s(one: Served) -> float:
    return one.service.transfer.total_s if one.service.transfer else 0.0


def _bars(shown: Sequence[Served], axis: ChartAxis, value: Callable[[Served], float]) -> Bars:
    return Bars(
        axis=axis,
        rows="technology",
        labels=tuple(one.name for one in shown),
        parts=(BarPart(name="", values=tuple(value(one) for one in shown)),),
    )


def _stacked(shown: Sequence[Served], value: Callable[[Served], PassDuration]) -> Bars:
    passes = {one.name: value(one) for one in shown}
    axes = sorted({axis for one in passes.values() for axis in one.communication_s})
    spent = {
        name: {"compute": one.compute_s}
        | {axis.value: one.communication_s.get(axis, 0.0) for axis in axes}
        for name, one in passes.items()
    }
    return time_by_part(spent, rows="technology", axis="time of a pass")


def _trust(shown: Sequence[Served]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the doubts, technologies that share all of them together."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for one in shown:
        sharing.setdefault(one.service.validity.doubts, []).append(one.name)
    return [(", ".join(names), doubts) for doubts, names in sharing.items()]


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=4)
