"""What a watch has found, for healing: the open cases of its store beside a fresh look."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netloom.fabric.part_id import PartId
from netloom.ops.locate.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netloom.ops.heal.snapshot import Snapshot
    from netloom.ops.observe.cases import Case

__all__ = ["with_cases"]


def with_cases(sight: Snapshot, cases: Iterable[Case], *, most_age_s: float) -> Snapshot:
    """Return *sight* with what a watch has found too.

    What both have found is as sure as the surer of the two. What the look did not find is marked
    so; a case that the watch has not seen for longer than *most_age_s* is a doubt and no more.

    Args:
        sight: The look.
        cases: Of the store.
        most_age_s: How long ago the watch may have seen a case.
    """
    found = {(one.part.whole, one.kind): one for one in sight.findings}
    doubts, unconfirmed = list(sight.doubts), set(sight.unconfirmed)
    for case in cases:
        key = case.part.whole, case.kind
        age_s = sight.taken_s - case.seen_s
        if case.closed_s is not None:
            continue
        if key in found:
            sure = max(found[key].confidence, case.confidence)
            found[key] = replace(found[key], confidence=sure)
        elif age_s > most_age_s:
            doubts.append(f"{case.label}: {case.kind}, which the watch last saw {age_s:.0f} s ago")
        else:
            found[key] = _finding(case)
            unconfirmed.add(key)
    ordered = sorted(found.values(), key=lambda one: -one.confidence)
    return replace(
        sight, findings=tuple(ordered), doubts=tuple(doubts), unconfirmed=frozenset(unconfirmed)
    )


def _finding(case: Case) -> Finding:
    return Finding(
        part=PartId.parse(case.label),
        kind=case.kind,
        magnitude=case.magnitude,
        confidence=case.confidence,
        evidence=case.evidence,
        hurts=(),
        predicted_gain=0.0,
    )
