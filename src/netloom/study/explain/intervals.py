"""Sets of times: sorted, disjoint spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.study.explain.timeline import TimeSpan

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clipped", "intersection", "length_s", "minus", "union"]


def union(spans: Iterable[TimeSpan]) -> list[TimeSpan]:
    """Return the times that any of *spans* covers."""
    merged: list[TimeSpan] = []
    for one in sorted(spans, key=lambda span: span.start_s):
        if merged and one.start_s <= merged[-1].end_s:
            merged[-1] = TimeSpan(merged[-1].start_s, max(merged[-1].end_s, one.end_s))
        else:
            merged.append(one)
    return merged


def minus(some: list[TimeSpan], others: list[TimeSpan]) -> list[TimeSpan]:
    """Return the times in *some* that are not in *others*, both unions."""
    left: list[TimeSpan] = []
    at = 0
    for one in some:
        start_s = one.start_s
        while at < len(others) and others[at].end_s <= start_s:
            at += 1
        for other in others[at:]:
            if other.start_s >= one.end_s:
                break
            if other.start_s > start_s:
                left.append(TimeSpan(start_s, other.start_s))
            start_s = max(start_s, other.end_s)
        if start_s < one.end_s:
            left.append(TimeSpan(start_s, one.end_s))
    return left


def intersection(some: list[TimeSpan], others: list[TimeSpan]) -> list[TimeSpan]:
    """Return the times in both unions."""
    return minus(some, minus(some, others))


def clipped(spans: Iterable[TimeSpan], window: TimeSpan) -> list[TimeSpan]:
    """Return the parts of *spans* inside *window*."""
    return [
        TimeSpan(max(one.start_s, window.start_s), min(one.end_s, window.end_s))
        for one in spans
        if one.end_s > window.start_s and one.start_s < window.end_s
    ]


def length_s(spans: Iterable[TimeSpan]) -> float:
    """Return how long *spans* are together."""
    return sum(one.duration_s for one in spans)
