"""Bounds of the classes of a scenario's spans, and what the packet engine shows beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.span.bounds import network_bounds
from netloom.study.span.placed import placed_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.bounds import FlowBound
    from netloom.fabric.span.lines import BuiltSpan
    from netloom.study.span.placed import PlacedClass

__all__ = ["ClassBound", "class_bounds"]

UNSHAPED: Final = (
    "no bound: its sources are not shaped, and a collective is a burst of its whole size; give "
    "'burst', and shape it at the edge"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBound:
    """A class of traffic on a span.

    Attributes:
        delay_bound_s: One way to its last site, propagation included; None where there is none.
        simulated_max_s: The longest delay of greedy sources in the packet engine; None where there
            is no bound, or there are too many frames.
        jitter_bound_s: The bound less the empty path.
        backlog_bound_bytes: At the edge switch of its first span, what is on the wire included.
        reason: Why there is no bound.
    """

    span: str
    name: str
    priority: int
    delay_bound_s: float | None
    simulated_max_s: float | None
    jitter_bound_s: float | None
    backlog_bound_bytes: float | None
    deadline_s: float | None
    deadline_ok: bool | None
    reason: str


def class_bounds(spans: Sequence[BuiltSpan]) -> tuple[ClassBound, ...]:
    """Return the bound of every class over all the spans that it takes.

    Raises:
        SpecError: a class goes on to a site that no span leads to, classes depend on each other in
            a circle, windows overlap, or a deadline lies below propagation.
    """
    ports, classes = placed_classes(spans)
    if not classes:
        return ()
    from netloom.study.span.played import played_delays  # noqa: PLC0415  (the engine is heavy)

    found = network_bounds([one.port for one in ports], [one.flow for one in classes])
    shown = played_delays(ports, classes)
    rows = []
    for number, (one, bound) in enumerate(zip(classes, found.flows, strict=True)):
        backlog = found.backlog_bytes.get((one.flow.route[0], one.flow.priority))
        delay_s = _finite(bound.delay_s)
        rows.append(
            ClassBound(
                span=one.span.name,
                name=one.spec.name,
                priority=one.spec.priority,
                delay_bound_s=delay_s,
                simulated_max_s=None if delay_s is None else shown.get(number),
                jitter_bound_s=None if delay_s is None else delay_s - bound.least_s,
                backlog_bound_bytes=None if delay_s is None else _finite(backlog),
                deadline_s=one.spec.deadline_s,
                deadline_ok=_kept(one.spec.deadline_s, delay_s),
                reason="" if delay_s is not None else _reason(one, bound, classes),
            )
        )
    return tuple(rows)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _kept(deadline_s: float | None, delay_s: float | None) -> bool | None:
    if deadline_s is None:
        return None
    return delay_s is not None and delay_s <= deadline_s


def _reason(one: PlacedClass, bound: FlowBound, classes: Sequence[PlacedClass]) -> str:
    if one.spec.burst_bytes is None:
        return UNSHAPED
    for other in classes:
        meets = set(other.flow.route) & set(one.flow.route)
        if meets and other.spec.burst_bytes is None and other.spec.priority >= one.spec.priority:
            return f"no bound: {other.spec.name!r}, which is sent before it, is not shaped"
    return bound.reason or "no bound: a class that is sent before it has none"
