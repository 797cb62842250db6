"""The tables of a span, as text; the terminal and the page show the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from netloom.units import LENGTH, MONEY, POWER, RATE, SIZE, TIME, Dimension, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.study.span.spanning import Spanning

__all__ = ["TABLES", "headline", "length", "needed", "rate", "time", "title"]

Rows = list[tuple[str, ...]]


def _shown(dimension: Dimension) -> Callable[[float], str]:
    return lambda value: format_quantity(value, dimension, digits=3)


time, rate, length = _shown(TIME), _shown(RATE), _shown(LENGTH)
_size, _money, _power = _shown(SIZE), _shown(MONEY), _shown(POWER)


def title(found: Spanning) -> str:
    """Return which job over which sites."""
    sites = found.scenario.sites
    gpus = found.one_site.network.design.num_gpus
    where = ", ".join(f"{site.name} ({site.nodes:,} nodes)" for site in sites)
    return f"{found.scenario.job.model} on {gpus:,} GPUs at {len(sites)} sites: {where}"


def headline(found: Spanning) -> str:
    """Return the answer in one sentence."""
    best = found.best
    return (
        f"{best.efficiency:.1%} of one site of the same size: a step of {time(best.step_time_s)} "
        f"against {time(found.case.one_site_s)}, {best.placement} across, "
        f"{_size(best.bytes_over_cut)} a step over {rate(found.case.rate_bps)} and "
        f"{time(found.latency_s)} one way"
    )


def needed(found: Spanning) -> str:
    """Return the bandwidth for less than 5 % loss."""
    if found.bandwidth_needed_bps is None:
        return "No bandwidth keeps the loss below 5 % at this distance with this placement."
    return (
        f"{rate(found.bandwidth_needed_bps)} of payload each way keep the loss below 5 % "
        f"with {found.best.placement} across; there "
        f"are {rate(found.case.rate_bps)}."
    )


def _placements(found: Spanning) -> Rows:
    return [
        (
            row.placement + (f", {row.more_in_flight} ahead" if row.more_in_flight else ""),
            f"{row.efficiency:.1%}",
            time(row.step_time_s),
            time(row.exposed_s),
            _size(row.bytes_over_cut),
            _size(row.extra_memory_bytes) if row.extra_memory_bytes else "-",
            row.note,
        )
        for row in found.placements
    ]


def _spans(found: Spanning) -> Rows:
    return [
        (
            one.name,
            "bought" if one.spec.length_m is None else length(one.length_m),
            time(one.latency.total_s),
            rate(one.payload_bps),
            one.carrier.name,
            one.carrier.guarantees,
        )
        for one in found.spans
    ]


def _latency(found: Spanning) -> Rows:
    return [
        (one.name, *(time(part) for part in one.latency.parts_s().values())) for one in found.spans
    ]


def _reliability(found: Spanning) -> Rows:
    return [
        (
            row.scheme + (" (chosen)" if row.chosen else ""),
            _size(row.message_bytes),
            time(row.mean_s),
            time(row.p999_s),
            f"{row.mean_s / row.lossless_s:.2f}x",
            f"{row.overhead:.0%}",
            row.note,
        )
        for row in found.reliability
    ]


def _edges(found: Spanning) -> Rows:
    def amount(value: float, unit: str) -> str:
        if math.isnan(value):
            return "-"
        return _size(value) if unit == "B" else f"{value:,.0f}"

    return [
        (
            row.what,
            row.span,
            amount(row.needed, row.unit),
            amount(row.has, row.unit),
            "yes" if row.ok else "NO",
            row.note,
        )
        for row in found.edges
    ]


def _classes(found: Spanning) -> Rows:
    def or_dash(value: float | None, show: Callable[[float], str]) -> str:
        return "-" if value is None else show(value)

    return [
        (
            row.name,
            row.span,
            or_dash(row.delay_bound_s, time),
            or_dash(row.simulated_max_s, time),
            or_dash(row.jitter_bound_s, time),
            or_dash(row.backlog_bound_bytes, _size),
            {None: "-", True: "kept", False: "NOT KEPT"}[row.deadline_ok],
            row.reason,
        )
        for row in found.classes
    ]


def _streams(found: Spanning) -> Rows:
    return [
        (
            row.name,
            row.span,
            time(row.period_s),
            time(row.offset_s),
            time(row.delay_s),
            time(row.deadline_s),
            time(row.simulated_jitter_s),
            f"{row.port_use:.1%}",
        )
        for row in found.streams
    ]


def _failures(found: Spanning) -> Rows:
    return [
        (
            row.what,
            "-" if math.isnan(row.per_year) else f"{row.per_year:.2g}",
            time(row.stall_s),
            f"{row.efficiency_after:.1%}",
            f"{row.lost_share:.3%}",
            row.note,
        )
        for row in found.failures
    ]


def _timeouts(found: Spanning) -> Rows:
    return [
        (row.what, time(row.after_s), "not reached" if row.survives else "REACHED")
        for row in found.timeouts
    ]


def _costs(found: Spanning) -> Rows:
    return [
        (
            row.span,
            f"{_money(row.capex_usd[0])} to {_money(row.capex_usd[1])}",
            f"{_money(row.yearly_usd[0])} to {_money(row.yearly_usd[1])}",
            _power(row.power_w),
        )
        for row in found.costs
    ]


# Title, caption, headings, rows.
TABLES: Final[tuple[tuple[str, str, tuple[str, ...], Callable[[Spanning], Rows]], ...]] = (
    (
        "Placements",
        "The fastest first; local updates, another algorithm, last.",
        ("placement", "efficiency", "step", "exposed", "bytes a step", "memory", "what it is"),
        _placements,
    ),
    (
        "Spans",
        "Payload of one direction; what the carrier guarantees.",
        ("span", "route", "one way", "payload", "carrier", "guarantees"),
        _spans,
    ),
    (
        "Latency",
        "One way, part by part.",
        ("span", "fibre", "amplifiers", "regenerators", "optics", "carrier"),
        _latency,
    ),
    (
        "Repair of losses",
        "One message of the exchange, on the longest span; the fastest in the mean is chosen.",
        ("scheme", "message", "mean", "p99.9", "slowdown", "more bytes", "note"),
        _reliability,
    ),
    (
        "Ends of the spans",
        "What it takes to keep a span full, and what the parts have.",
        ("what", "span", "needed", "has", "ok", "note"),
        _edges,
    ),
    (
        "Classes",
        "Bounds by network calculus, beside greedy sources in the packet engine.",
        ("class", "span", "delay bound", "simulated", "jitter", "backlog", "deadline", "note"),
        _classes,
    ),
    (
        "Scheduled streams",
        "When each sends; no two meet, as proved and as run in the packet engine.",
        ("stream", "span", "period", "offset", "delay", "deadline", "jitter", "port used"),
        _streams,
    ),
    (
        "Failures",
        "A year's failures (recalled rates), and what each leaves.",
        ("loss of", "a year", "stall", "then", "of all time", "note"),
        _failures,
    ),
    (
        "Who gives up when",
        "Against the protection of the longest span.",
        ("what", "after", "here"),
        _timeouts,
    ),
    (
        "Cost",
        "Ranges as remembered; a quote of your own replaces them (docs/catalogue.md).",
        ("span", "up front", "a year", "power"),
        _costs,
    ),
)
