"""A service as text: how fast it answers, where the time goes, technology by technology."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netloom.report.memory import held_line
from netloom.units import SIZE, TIME, format_count, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.step.serving_memory import ServingMemory
    from netloom.step.serving_model import Service
    from netloom.step.serving_pass import PassDuration
    from netloom.study.serving.inference import Inference

__all__ = ["headline", "inference_text", "memory_line", "pools_line"]


def inference_text(found: Inference) -> RenderableType:
    """Return what ``netloom infer`` prints."""
    service, serving = found.own.service, found.serving
    asked = (
        f"{serving.prompt:,} tokens in, {serving.output:,} out, batch {serving.batch:,}, "
        f"{serving.precision}; keys and values "
        f"{format_quantity(found.cache_bytes_per_token, SIZE)} a token"
    )
    parts: list[RenderableType] = [
        Text(
            f"{found.model.name} on {format_count(service.num_gpus, 'GPU')}, {found.own.name}",
            style="bold",
        ),
        Text(asked, style="dim"),
        Text(headline(service), style="green"),
        Text(pools_line(service)),
        "",
        _passes(service),
        "",
        Text(memory_line("prefill", service.prefill_memory)),
        Text(memory_line("decode", service.decode_memory)),
        Text(f"an instance has room for a batch of {service.decode_memory.max_requests:,}"),
        "",
        _technologies(found),
    ]
    parts += [Text(f"{name} cannot: {reason}", style="dim") for name, reason in found.refused]
    parts += ["", Text("Outside the range checked against measurements:", style="dim")]
    parts += [Padding(Text(f"- {d}", style="dim"), (0, 0, 0, 2)) for d in service.validity.doubts]
    return Group(*parts)


def headline(service: Service) -> str:
    """Return the times and the throughput in one line."""
    return (
        f"first token {_time(service.time_to_first_token_s)}, then "
        f"{_time(service.time_per_token_s)} a token, {service.tokens_per_s_per_gpu:,.1f} tokens/s "
        f"per GPU ({service.tokens_per_s:,.0f} in all)"
    )


def pools_line(service: Service) -> str:
    """Return which instances there are, and which of them limit the rest."""
    pools = service.pools
    idle = f", {format_count(pools.idle_gpus, 'GPU')} idle" if pools.idle_gpus else ""
    if not pools.prefill:
        return f"{pools.decode:,} instances read prompts and decode in turn{idle}"
    return (
        f"{pools.prefill:,} instances read prompts, {pools.decode:,} decode{idle}; "
        f"{pools.bound} is the bottleneck"
    )


def _passes(service: Service) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    axes = sorted({*service.prefill.communication_s, *service.decode.communication_s})
    table.add_column("one pass, all stages")
    for heading in ("compute", *(axis.value for axis in axes)):
        table.add_column(heading, justify="right")

    def cells(one: PassDuration) -> list[str]:
        waits = [one.communication_s.get(axis, 0.0) for axis in axes]
        return [_time(one.compute_s), *map(_time, waits)]

    table.add_row("prompt", *cells(service.prefill))
    table.add_row("decode step", *cells(service.decode))
    return table


def _technologies(found: Inference) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("technology")
    for heading in ("first token", "per token", "tokens/s/GPU", "cache sent", "of it exposed"):
        table.add_column(heading, justify="right")
    for one in found.others:
        service, transfer = one.service, one.service.transfer
        table.add_row(
            one.name,
            _time(service.time_to_first_token_s),
            _time(service.time_per_token_s),
            f"{service.tokens_per_s_per_gpu:,.1f}",
            _time(transfer.total_s) if transfer else "-",
            _time(transfer.exposed_s) if transfer else "-",
        )
    return table


def memory_line(phase: str, memory: ServingMemory) -> str:
    """Return what one GPU holds in *phase*."""
    parts_bytes = {
        "weights": memory.weights_bytes,
        "keys and values": memory.cache_bytes,
        "activations": memory.activations_bytes,
        "reserved": memory.reserved_bytes,
    }
    return f"{phase} {held_line(parts_bytes, capacity_bytes=memory.capacity_bytes)}"


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=4)
