"""The set of faults that explains best what was seen: grow it, then try every exchange.

After Flock (Harsh, Meng, Agrawal and Godfrey, CoNEXT 2023): a likelihood over sets of failed
parts, grown greedily; here with magnitudes and kinds, which flows tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate.faults import Scope
from netloom.ops.locate.scores import could_be, evidence_of, explained, healthy, measured, scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.faults import FaultHypothesis
    from netloom.ops.locate.observations import Observations
    from netloom.ops.locate.scores import Belief, Evidence, Scores

__all__ = ["Suspicion", "suspect"]

COST: Final = 15.0  # log of how rare any one fault is in a window: found on healthy windows
MAX_FAULTS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A fault that belongs to the best explanation.

    Attributes:
        score: How much it explains beyond the others, in nats, its rarity deducted.
        confidence: Its part's share of all the ways to explain the same.
        rivals: Other faults that explain it nearly as well, best first, with their share.
    """

    fault: FaultHypothesis
    score: float
    confidence: float
    rivals: tuple[tuple[FaultHypothesis, float], ...]


def suspect(fabric: Fabric, seen: Observations) -> tuple[Suspicion, ...]:
    """Return the faults of the best explanation, most certain first; none when all is well."""
    evidence = evidence_of(fabric, seen)
    accepted, first = _grow(evidence)
    found: list[Suspicion] = []
    for turn in range(len(accepted)):
        others = [fault for place, fault in enumerate(accepted) if place != turn]
        belief = _belief(evidence, others)
        left = scores(evidence, belief) if others else first
        best = left.best()
        if best is None or best[0] <= COST:
            continue
        accepted[turn] = measured(evidence, belief, best[1])
        fits = partial(could_be, evidence, belief)
        found.append(replace(_weigh(left, *best, fits), fault=accepted[turn]))
    distinct = {(one.fault.scope, one.fault.index): one for one in found}
    return tuple(sorted(distinct.values(), key=lambda one: -one.score))


def _grow(evidence: Evidence) -> tuple[list[FaultHypothesis], Scores]:
    """Return the faults accepted one by one, and the scores before the first of them."""
    accepted: list[FaultHypothesis] = []
    belief = healthy(evidence.seen)
    first = now = scores(evidence, belief)
    while len(accepted) < MAX_FAULTS:
        best = now.best()
        if best is None or best[0] <= COST:
            break
        accepted.append(measured(evidence, belief, best[1]))
        belief = explained(evidence, belief, accepted[-1])
        now = scores(evidence, belief)
    return accepted, first


def _belief(evidence: Evidence, faults: list[FaultHypothesis]) -> Belief:
    belief = healthy(evidence.seen)
    for fault in faults:
        belief = explained(evidence, belief, fault)
    return belief


def _weigh(
    left: Scores, score: float, fault: FaultHypothesis, fits: Callable[[FaultHypothesis], bool]
) -> Suspicion:
    """Return the suspicion: a part's weight is that of all its kinds, magnitudes and directions.

    Where no flow may say too much, a small loss explains flows that lost everything as well as a
    large one, and those that lost nothing better. So rivals must lose what their flows lost.
    """
    weights: dict[tuple[bool, int], float] = {}
    best: dict[tuple[bool, int], tuple[float, FaultHypothesis]] = {}
    for value, one in left.above(score - 20.0):
        part = _part(one)
        if part != _part(fault) and not fits(one):
            continue
        weights[part] = weights.get(part, 0.0) + float(np.exp(value - score))
        if part not in best or value > best[part][0]:
            best[part] = (value, one)
    nothing = float(np.exp(COST - score))
    total = sum(weights.values()) + nothing
    own = _part(fault)
    rivals = sorted((p for p in weights if p != own), key=lambda part: -weights[part])[:8]
    return Suspicion(
        fault=fault,
        score=score - COST,
        confidence=weights[own] / total,
        rivals=tuple((best[part][1], weights[part] / total) for part in rivals),
    )


def _part(fault: FaultHypothesis) -> tuple[bool, int]:
    """Return what would be repaired: a switch, or a cable, whichever way it fails."""
    is_switch = fault.scope is Scope.SWITCH
    return is_switch, fault.index // 2 if fault.scope is Scope.LINK else fault.index
