"""Findings: suspicions in words, with evidence, who is hurt, and what repairing them brings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.fabric.names import link_name, part_of_vertex, vertex_name
from netloom.fabric.part_id import CABLE, Direction, PartId
from netloom.fabric.wire.recovery import efficiency
from netloom.ops.locate.congested.report import congestion_of
from netloom.ops.locate.faults import FaultHypothesis, FaultKind, Scope
from netloom.ops.locate.search import explain
from netloom.ops.locate.testimony import PAUSED, TRUST, Report, believed, storm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.congested.report import Congestion
    from netloom.ops.locate.observations import Observations
    from netloom.ops.locate.search import Suspicion
    from netloom.parts.parts import Technology

__all__ = ["Finding", "find", "find_all", "part_of"]

MIN: Final = 0.5  # confidence: what is less likely than not is no finding
_RTT_S: Final = 10e-6  # of a path with three switches, for what a loss costs
_MAX_NAMED: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A suspected cause.

    Attributes:
        part: A cable, one direction of it, a switch, a NIC, a subnet or its manager.
        kind: What is wrong with it.
        magnitude: Share lost, times slower, seconds of delay, or paths lost, by kind.
        confidence: Chance that this part is to blame.
        evidence: Sentences with the numbers behind it.
        hurts: GPUs whose flows cross it and suffer, ascending.
        predicted_gain: Share of those flows' time that repairing it saves.
        rivals: Other parts that would explain it, with their chance.
        cause: What explains it and other findings at once; empty where it stands alone.
    """

    part: PartId
    kind: str
    magnitude: float
    confidence: float
    evidence: tuple[str, ...]
    hurts: tuple[int, ...]
    predicted_gain: float
    rivals: tuple[tuple[PartId, float], ...] = field(default=())
    cause: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "part": str(self.part),
            "kind": self.kind,
            "magnitude": self.magnitude,
            "confidence": self.confidence,
            "evidence": list(self.evidence),
            "hurts": {"gpus": list(self.hurts)},
            "predicted_gain": self.predicted_gain,
            "rivals": [{"part": str(part), "confidence": share} for part, share in self.rivals],
            "cause": self.cause or None,
        }


def find(
    fabric: Fabric, seen: Observations, technology: Technology | None = None
) -> tuple[Finding, ...]:
    """Return what is broken, most certain first; see :func:`find_all`."""
    return find_all(fabric, seen, technology)[0]


def find_all(
    fabric: Fabric, seen: Observations, technology: Technology | None = None
) -> tuple[tuple[Finding, ...], tuple[Congestion, ...]]:
    """Return what is broken, most certain first, and what is congested instead.

    Args:
        fabric: The network as it should be.
        seen: What was seen of it.
        technology: How losses are recovered, for what they cost; default: as selective repeat.
    """
    told = [*_lost_paths(fabric, seen), *_storms(fabric, seen)]
    parts = {finding.part for finding in told}
    best = explain(fabric, seen)
    guessed = [_finding(fabric, seen, one, technology) for one in best.faults]
    unseen = {link for one in best.unseen for link in one.one_way}
    found = (*told, *(finding for finding in guessed if finding.part not in parts))
    return found, congestion_of(fabric, seen, best.load, unseen)


def part_of(fabric: Fabric, fault: FaultHypothesis) -> PartId:
    """Return the part that is to blame; the cable of a NIC goes by the NIC."""
    if fault.scope is Scope.SWITCH:
        return part_of_vertex(fabric, fault.index)
    if fault.scope is Scope.LINK:
        # Links 2n lead up.
        direction = Direction.DOWN if fault.index % 2 else Direction.UP
        return _cable_part(fabric, fault.index // 2, direction)
    lower = int(fabric.link_source[2 * fault.index])
    if fabric.vertex_kind[lower] == VertexKind.NIC:
        return part_of_vertex(fabric, lower)
    return _cable_part(fabric, fault.index, Direction.BOTH)


def _cable_part(fabric: Fabric, cable: int, direction: Direction) -> PartId:
    lower = vertex_name(fabric, int(fabric.link_source[2 * cable]))
    upper = vertex_name(fabric, int(fabric.link_target[2 * cable]))
    return PartId(CABLE, cable, direction, ends=(lower, upper))


def _finding(
    fabric: Fabric, seen: Observations, one: Suspicion, technology: Technology | None
) -> Finding:
    crossing = _crossing(fabric, seen, one.fault)
    hurt = _hurt(seen, crossing, one.fault.kind)
    return Finding(
        part=part_of(fabric, one.fault),
        kind=one.fault.kind.value,
        magnitude=one.fault.magnitude,
        confidence=one.confidence,
        evidence=tuple(_evidence(fabric, seen, one.fault, crossing, hurt)),
        hurts=_gpus(fabric, seen, hurt),
        predicted_gain=_gain(seen, one.fault, hurt, technology),
        rivals=tuple((part_of(fabric, fault), share) for fault, share in one.rivals),
    )


def _links(fabric: Fabric, fault: FaultHypothesis) -> NDArray[np.int64]:
    if fault.scope is Scope.LINK:
        return np.array([fault.index])
    if fault.scope is Scope.CABLE:
        return np.array([2 * fault.index, 2 * fault.index + 1])
    return np.flatnonzero(fabric.link_target == fault.index)


def _crossing(fabric: Fabric, seen: Observations, fault: FaultHypothesis) -> NDArray[np.int64]:
    touched = np.isin(seen.paths.links, _links(fabric, fault))
    return np.unique(seen.flow_of_crossing()[touched])


def _hurt(seen: Observations, flows: NDArray[np.int64], kind: FaultKind) -> NDArray[np.int64]:
    if kind is FaultKind.SLOW:
        return flows[seen.slowdown[flows] > 1.15]
    if kind is FaultKind.DELAY:
        return flows[seen.delay_s[flows] > 10e-6]
    return flows[seen.lost[flows] > 0]


def _gpus(fabric: Fabric, seen: Observations, flows: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the GPUs at either end of *flows*; paths begin and end at their vertices."""
    if not len(flows):
        return ()
    first = seen.paths.links[seen.paths.offsets[flows]]
    last = seen.paths.links[seen.paths.offsets[flows + 1] - 1]
    ends = np.unique(np.concatenate([fabric.link_source[first], fabric.link_target[last]]))
    return tuple(ends[fabric.vertex_kind[ends] == VertexKind.GPU].tolist())


def _evidence(
    fabric: Fabric,
    seen: Observations,
    fault: FaultHypothesis,
    crossing: NDArray[np.int64],
    hurt: NDArray[np.int64],
) -> Iterator[str]:
    yield f"{len(hurt)} of the {len(crossing)} flows that cross it suffer"
    if fault.kind is FaultKind.SLOW and len(hurt):
        yield f"they take {np.median(seen.slowdown[hurt]):.2f} times as long as expected (median)"
    elif fault.kind is FaultKind.DELAY and len(hurt):
        yield f"their round trips are {1e6 * np.median(seen.delay_s[hurt]):.0f} us longer (median)"
    elif len(hurt):
        lost, sent = int(seen.lost[crossing].sum()), int(seen.packets[crossing].sum())
        yield f"those that cross it lost {lost:,} of {sent:,} packets ({lost / sent:.2g})"
    if fault.scope is Scope.LINK:
        yield f"only the way {link_name(fabric, fault.index)}: the other is well"
    if seen.load is None and fault.kind in {FaultKind.SLOW, FaultKind.DELAY}:
        yield "no port tells of queues or marks: congestion is not ruled out"
    errors = seen.link_errors[_links(fabric, fault)]
    if (errors > 0).any():
        yield f"its ports count {int(errors[errors > 0].sum()):,} errors"
    elif (errors == 0).all() and fault.kind in {FaultKind.LOSS, FaultKind.LARGE_LOSS}:
        yield "its ports count no errors: the loss is silent"


def _gain(
    seen: Observations,
    fault: FaultHypothesis,
    hurt: NDArray[np.int64],
    technology: Technology | None,
) -> float:
    if fault.kind is FaultKind.BLACK_HOLE:
        return 1.0
    if fault.kind is FaultKind.SLOW and len(hurt):
        return float(1 - 1 / np.median(seen.slowdown[hurt]))
    if fault.kind is FaultKind.DELAY:
        return 0.0
    if technology is None:
        return min(1.0, fault.magnitude)
    loss = min(fault.magnitude, 0.999)
    return 1 - efficiency(technology, loss=loss, num_links=1, rtt_s=_RTT_S)


def _lost_paths(fabric: Fabric, seen: Observations) -> Iterator[Finding]:
    """Yield switches whose forwarding plane has fewer ways than their routing believes."""
    known = (seen.rib_ways >= 0) & (seen.fib_ways >= 0)
    said = Report(is_so=True, num_looks=1)
    for vertex in np.flatnonzero(known & (seen.fib_ways < seen.rib_ways)).tolist():
        rib, fib = int(seen.rib_ways[vertex]), int(seen.fib_ways[vertex])
        yield Finding(
            part=part_of_vertex(fabric, vertex),
            kind=FaultKind.LOST_PATHS.value,
            magnitude=float(rib - fib),
            confidence=believed(TRUST[FaultKind.LOST_PATHS], [said]),
            evidence=(f"routing has {rib} ways, the forwarding plane {fib}",),
            hurts=_gpus(fabric, seen, _crossing(fabric, seen, _whole(vertex))),
            predicted_gain=1 - fib / rib,
        )


def _whole(vertex: int) -> FaultHypothesis:
    return FaultHypothesis(scope=Scope.SWITCH, index=vertex, kind=FaultKind.SLOW, magnitude=1.0)


def _storms(fabric: Fabric, seen: Observations) -> Iterator[Finding]:
    """Yield the NICs and switches that pause others though nothing pauses them.

    A pause spreads from a receiver to whatever sends to it; where it began, nothing further on is
    paused.
    """
    paused = np.nan_to_num(seen.pause_share) > PAUSED
    passes_on = np.zeros(fabric.num_vertices, dtype=bool)
    passes_on[fabric.link_source[paused]] = True
    roots = np.unique(fabric.link_target[paused])
    for vertex in roots[~passes_on[roots]].tolist():
        into = np.flatnonzero(paused & (fabric.link_target == vertex))
        share = float(np.nan_to_num(seen.pause_share[into]).max())
        if storm(share) < MIN:
            continue  # as congestion does too
        behind = [link_name(fabric, int(link)) for link in np.flatnonzero(paused)]
        more = "" if len(behind) <= _MAX_NAMED else f" and {len(behind) - _MAX_NAMED} more"
        yield Finding(
            part=part_of_vertex(fabric, vertex),
            kind=FaultKind.PAUSE_STORM.value,
            magnitude=share,
            confidence=storm(share),
            evidence=(
                f"it pauses its sender {share:.0%} of the time, and nothing pauses it",
                f"paused links: {', '.join(behind[:_MAX_NAMED])}{more}",
            ),
            hurts=_gpus(fabric, seen, _paused_flows(seen, paused)),
            predicted_gain=share,
        )


def _paused_flows(seen: Observations, paused: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.unique(seen.flow_of_crossing()[paused[seen.paths.links]])
