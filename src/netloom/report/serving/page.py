"""A service as a self-contained page: how fast it answers, technology by technology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netloom.report.compare.figures import COLOURS, new_layout
from netloom.report.html import render
from netloom.report.serving.text import headline, memory_line, pools_line
from netloom.units import SIZE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.step.serving_pass import PassDuration
    from netloom.study.serving.inference import Inference, Served

__all__ = ["inference_page"]

Figure = dict[str, Any]

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
    figures = _figures(shown)
    return render(
        "infer.html.j2",
        plots={key: figure for key, _, _, figure in figures},
        title=found.scenario.name or f"{found.model.name} served on {service.num_gpus:,} GPUs",
        subtitle=_subtitle(found),
        own=found.own.name,
        headline=headline(service),
        pools=pools_line(service),
        memory=[
            memory_line("prefill", service.prefill_memory),
            memory_line("decode", service.decode_memory),
            f"an instance has room for a batch of {service.decode_memory.max_requests:,}",
        ],
        headings=HEADINGS,
        rows=[(one.name == found.own.name, _row(one)) for one in shown],
        refused=found.refused,
        figures=[(key, heading, caption) for key, heading, caption, _ in figures],
        trust=_trust(shown),
    )


def _shown(found: Inference) -> list[Served]:
    """Return the cluster's own technology, where it is not among those to compare, and those."""
    names = [one.name for one in found.others]
    return [*found.others] if found.own.name in names else [found.own, *found.others]


def _subtitle(found: Inference) -> str:
    serving = found.serving
    return (
        f"{found.model.name}; {found.own.service.num_gpus:,} GPUs "
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


def _figures(shown: Sequence[Served]) -> list[tuple[str, str, str, Figure]]:
    """Return each figure with its id, heading and caption."""
    found = [
        (
            "first",
            "Time to first token",
            "The prompt's pass through all stages, and what is exposed of sending its keys on.",
            _bars(shown, "milliseconds", 1e3, lambda one: one.service.time_to_first_token_s),
        ),
        (
            "token",
            "Time per token",
            "Every further token of one request, while the whole batch decodes.",
            _bars(shown, "milliseconds", 1e3, lambda one: one.service.time_per_token_s),
        ),
        (
            "rate",
            "Tokens per second and GPU",
            "Of all GPUs, those that read prompts included. More is better.",
            _bars(shown, "tokens/s per GPU", 1.0, lambda one: one.service.tokens_per_s_per_gpu),
        ),
        (
            "prefill",
            "Where a prompt's pass goes",
            "All stages together: computation, and what it waits for by axis.",
            _stacked(shown, lambda one: one.service.prefill),
        ),
        (
            "decode",
            "Where a decode step goes",
            "All stages together: computation, and what it waits for by axis.",
            _stacked(shown, lambda one: one.service.decode),
        ),
    ]
    if all(one.service.transfer for one in shown):
        caption = (
            "From the instance that read the prompt to the one that decodes; most of it hides "
            "behind the pass itself."
        )
        figure = _bars(shown, "milliseconds", 1e3, _transfer_s)
        found.append(("cache", "Sending keys and values", caption, figure))
    return found


def _transfer_s(one: Served) -> float:
    return one.service.transfer.total_s if one.service.transfer else 0.0


def _bars(
    shown: Sequence[Served], unit: str, factor: float, value: Callable[[Served], float]
) -> Figure:
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": [one.name for one in shown],
        "x": [factor * value(one) for one in shown],
        "marker": {"color": COLOURS[0]},
        "texttemplate": "%{x:.4g}",
        "hovertemplate": "%{y}: %{x:.4g} " + unit + "<extra></extra>",
        "showlegend": False,
    }
    layout = new_layout(unit, "")
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return {"data": [trace], "layout": layout}


def _stacked(shown: Sequence[Served], value: Callable[[Served], PassDuration]) -> Figure:
    passes = [value(one) for one in shown]
    axes = sorted({axis for one in passes for axis in one.communication_s})
    parts = [("compute", [one.compute_s for one in passes])] + [
        (axis.value, [one.communication_s.get(axis, 0.0) for one in passes]) for axis in axes
    ]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": [one.name for one in shown],
            "x": [1e3 * time_s for time_s in times_s],
            "marker": {"color": COLOURS[index % len(COLOURS)]},
            "hovertemplate": "%{x:.4g} ms<extra>" + name + "</extra>",
        }
        for index, (name, times_s) in enumerate(parts)
    ]
    layout = new_layout("milliseconds", "")
    layout |= {"barmode": "stack"}
    layout["legend"] |= {"traceorder": "normal"}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return {"data": traces, "layout": layout}


def _trust(shown: Sequence[Served]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the doubts, technologies that share all of them together."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for one in shown:
        sharing.setdefault(one.service.validity.doubts, []).append(one.name)
    return [(", ".join(names), doubts) for doubts, names in sharing.items()]


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=4)
