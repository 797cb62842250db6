"""The classes of a scenario's spans as flows through ports, with their shapers and windows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.fabric.span.bounds import BoundFlow, BoundPort
from netloom.fabric.span.curves import TokenBucket
from netloom.fabric.span.gates import GateWindow, window_gates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.lines import BuiltSpan
    from netloom.spec.sites import SpanClass

__all__ = ["FRAME_BYTES", "PS", "PlacedClass", "SpanPort", "placed_classes"]

FRAME_BYTES: Final = 4_194  # a RoCEv2 packet of 4 KiB with preamble and gap
PS: Final = 1e12
GATED: Final = ("tsn",)
SHAPING: Final = ("tsn", "detnet")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanPort:
    """A direction of a span as classes meet it."""

    span: int
    source: str
    target: str
    port: BoundPort


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedClass:
    """A class with its flow; *key* is where it stands in the scenario."""

    spec: SpanClass
    span: BuiltSpan
    flow: BoundFlow
    key: str


def placed_classes(spans: Sequence[BuiltSpan]) -> tuple[list[SpanPort], list[PlacedClass]]:
    """Return the ports that classes take, and each class's flow through them."""
    ports: list[SpanPort] = []
    number_of: dict[tuple[str, str], int] = {}
    for number, span in enumerate(spans):
        one, other = span.spec.between
        for source, target in ((one, other), (other, one)):
            number_of.setdefault((source, target), len(ports))
            ports.append(
                SpanPort(
                    span=number, source=source, target=target, port=_port(span, source, target)
                )
            )
    classes = []
    for number, span in enumerate(spans):
        for place, spec in enumerate(span.spec.classes):
            key = f"spans[{number}].classes[{place}]"
            route = _route(span, spec, number_of, key=key)
            rate_bps = spec.share * ports[route[0]].port.rate_bps
            bucket = TokenBucket(burst_bytes=_burst_bytes(spec), rate_bps=rate_bps)
            flow = BoundFlow(
                name=f"{number}.{place}",
                priority=spec.priority,
                arrivals=bucket,
                frame_bytes=FRAME_BYTES,
                route=route,
            )
            classes.append(PlacedClass(spec=spec, span=span, flow=flow, key=key))
    for at, one_port in enumerate(ports):
        here = [one for one in classes if at in one.flow.route]
        if here:
            ports[at] = replace(one_port, port=_ruled(one_port.port, spans[one_port.span], here))
    for placed in classes:
        _check_deadline(placed, [ports[at].port for at in placed.flow.route])
    return ports, classes


def _burst_bytes(spec: SpanClass) -> float:
    """Return whole frames: what a token bucket lets through at once."""
    if spec.burst_bytes is None:
        return math.inf
    return max(1, math.ceil(spec.burst_bytes / FRAME_BYTES)) * float(FRAME_BYTES)


def _port(span: BuiltSpan, source: str, target: str) -> BoundPort:
    """Return a port at the rate of whole picoseconds a frame, as the packet engine has it."""
    frame_ps = math.ceil(FRAME_BYTES * 8 * PS / span.line_bps)
    return BoundPort(
        name=f"{source} -> {target}",
        rate_bps=FRAME_BYTES * 8 * PS / frame_ps,
        latency_s=round(span.latency.total_s * PS) / PS,
    )


def _route(
    span: BuiltSpan, spec: SpanClass, number_of: dict[tuple[str, str], int], *, key: str
) -> tuple[int, ...]:
    route = []
    for step in pairwise((*span.spec.between, *spec.via)):
        if step not in number_of:
            raise SpecError(
                key=f"{key}.via",
                what=f"no span leads from {step[0]!r} to {step[1]!r}",
                remedy="go by sites that spans join",
            )
        route.append(number_of[step])
    if len(set(route)) < len(route):
        raise SpecError(
            key=f"{key}.via",
            what=f"{spec.name!r} passes a span twice: "
            + " -> ".join((*span.spec.between, *spec.via)),
            remedy="end its route where it comes back",
        )
    return tuple(route)


def _check_deadline(one: PlacedClass, ports: Sequence[BoundPort]) -> None:
    least_s = sum(port.latency_s for port in ports)
    if one.spec.deadline_s is not None and one.spec.deadline_s < least_s:
        raise SpecError(
            key=f"{one.key}.deadline",
            what=f"{one.spec.deadline_s * 1e3:g} ms, and propagation alone takes "
            f"{least_s * 1e3:.4g} ms",
            remedy="allow more, or shorten the route",
        )


def _ruled(port: BoundPort, span: BuiltSpan, here: Sequence[PlacedClass]) -> BoundPort:
    """Return *port* with the shapers, windows and pre-emption of the classes that take it."""
    shaped = {one.spec.shaper for one in here} - {"none"}
    gated = any(one.spec.window is not None for one in here)
    express = frozenset(one.spec.priority for one in here if one.spec.preempts)
    used = [*sorted(shaped), *(["window"] if gated else []), *(["preempts"] if express else [])]
    if not used:
        return port
    carrier = span.spec.carried_by.kind
    allowed = SHAPING if used in (["ats"], ["cbs"]) else GATED
    if carrier not in allowed:
        raise SpecError(
            key=here[0].key,
            what=f"{carrier} has no {' or '.join(used)}",
            remedy=f"use 'carried_by: {{kind: {allowed[0]}}}', or leave it out",
        )
    if len(used) > 1:
        raise SpecError(
            key=here[0].key,
            what=f"{' and '.join(used)} at one port ({port.name})",
            remedy="use one of shapers, windows and pre-emption for all classes of a span",
        )
    if gated:
        return _windowed(port, span, here)
    if express:
        return replace(port, express=express)
    if "ats" in shaped:
        return replace(port, rule="ats")
    return _credited(port, here)


def _credited(port: BoundPort, here: Sequence[PlacedClass]) -> BoundPort:
    slopes: dict[int, float] = {}
    for one in here:
        if one.spec.shaper == "cbs":
            level = one.spec.priority
            slopes[level] = slopes.get(level, 0.0) + one.flow.arrivals.rate_bps
    lowest = min(slopes)
    for one in here:
        if one.spec.shaper == "none" and one.spec.priority >= lowest:
            raise SpecError(
                key=f"{one.key}.priority",
                what=f"{one.spec.priority}, not below {lowest} of a class with a credit-based "
                "shaper",
                remedy="give shaped classes the highest priorities",
            )
    return replace(port, rule="cbs", slopes_bps=slopes)


def _windowed(port: BoundPort, span: BuiltSpan, here: Sequence[PlacedClass]) -> BoundPort:
    cycle_s = span.spec.carried_by.cycle_s
    if cycle_s is None:
        raise SpecError(
            key=here[0].key,
            what="a window without a cycle",
            remedy="give 'carried_by: {kind: tsn, cycle: 100us}'",
        )
    windows = []
    for one in here:
        window = one.spec.window
        if window is None:
            raise SpecError(
                key=f"{one.key}.window",
                what=f"{one.spec.name!r} has none, and other classes of {port.name} do",
                remedy="give it one: its gate would never open",
            )
        if window.length_s < FRAME_BYTES * 8 / port.rate_bps:
            raise SpecError(
                key=f"{one.key}.window.length",
                what=f"{window.length_s * 1e6:g} us, and a frame of {FRAME_BYTES} bytes takes "
                f"{FRAME_BYTES * 8e6 / port.rate_bps:g} us",
                remedy="use a longer window, or a faster span",
            )
        windows.append(
            GateWindow(
                begin_ps=round(window.begin_s * PS),
                end_ps=round((window.begin_s + window.length_s) * PS),
                priority=one.spec.priority,
                name=one.spec.name,
            )
        )
    window_gates(windows, cycle_ps=round(cycle_s * PS), key=here[-1].key)
    lengths = {one.priority: (one.end_ps - one.begin_ps) / PS for one in windows}
    return replace(port, rule="window", windows_s=lengths, cycle_s=cycle_s)
