"""The set of faults that explains best what was seen: grow it, then try every exchange.

After Flock (Harsh, Meng, Agrawal and Godfrey, CoNEXT 2023): a likelihood over sets of failed
parts, grown greedily; here with magnitudes and kinds, which flows tell apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate.congested.judgement import MOST_LOSS, MOST_SLOWDOWN, judged_load
from netloom.ops.locate.faults import FaultKind, Scope
from netloom.ops.locate.fitting.beliefs import (
    LOSSES,
    could_be,
    explained,
    healthy,
    measured,
    without,
)
from netloom.ops.locate.fitting.evidence import evidence_of, links_of
from netloom.ops.locate.fitting.scores import scores
from netloom.ops.locate.likelihood import ODDITY, WIDER, Oddity
from netloom.ops.locate.observations import unknown_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.congested.judgement import LoadJudgement
    from netloom.ops.locate.faults import FaultHypothesis
    from netloom.ops.locate.fitting.beliefs import Belief
    from netloom.ops.locate.fitting.evidence import Evidence
    from netloom.ops.locate.fitting.scores import Scores
    from netloom.ops.locate.observations import Observations

__all__ = ["Suspicion", "WindowExplanation", "explain", "suspect"]

COST: Final = 15.0  # log of how rare any one fault is in a window: found on healthy windows
MAX_FAULTS: Final = 64
MAX_AT_ONCE: Final = 16  # faults accepted in one round, where they share no flow
PASSES: Final = 3  # over all faults, each exchanged for the best alternative
SURE_LOSSES: Final = 8.0  # expected of a flow: it loses none of them once in 3,000 times
MIN_SURE: Final = 10  # such flows, to tell wrong paths by
MIN_WRONG: Final = 0.02  # share of them that got through before paths are held to be wrong
MIN_DEAD: Final = 2  # flows that lose most of their packets: a black hole, however it shows
SURE: Final = math.log(99)  # odds from which trouble in one direction is a fault
QUEUE_SPREAD: Final = 0.5  # of what a queue holds one flow up and another (assumed)
LOPSIDED: Final = 4.0  # times the loss of the other direction: this one is to blame
ALONE: Final = 3.0  # nats by which a direction of a cable must speak for a fault by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A fault that belongs to the best explanation.

    Attributes:
        score: How much it explains beyond the others, in nats, its rarity deducted.
        confidence: Its part's share of all the ways to explain the same.
        rivals: Other faults that explain it nearly as well, best first, with their share.
        one_way: Of a cable, the direction that shows it by itself, where the other does not;
            none where both do.
    """

    fault: FaultHypothesis
    score: float
    confidence: float
    rivals: tuple[tuple[FaultHypothesis, float], ...]
    one_way: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowExplanation:
    """What explains a window best.

    Attributes:
        faults: Most certain first.
        unseen: Links in trouble whose ports do not show congestion, but sooner have it than a
            fault: they tell nothing, or may be late.
        load: What the ports tell.
    """

    faults: tuple[Suspicion, ...]
    unseen: tuple[Suspicion, ...]
    load: LoadJudgement


def suspect(fabric: Fabric, seen: Observations) -> tuple[Suspicion, ...]:
    """Return the faults of the best explanation, most certain first; none when all is well."""
    return explain(fabric, seen).faults


def explain(fabric: Fabric, seen: Observations) -> WindowExplanation:
    """Return the faults of the best explanation, and what is congestion instead."""
    evidence = evidence_of(fabric, seen)
    load = judged_load(seen.load or unknown_load(fabric.num_links), evidence.wires)
    search = _FaultSearch(evidence=evidence, load=load, start=healthy(seen, load))
    found = search.run()
    oddity = search.wrong_paths(found)
    if oddity is not None:
        start = replace(search.start, oddity=oddity)
        found = _FaultSearch(evidence=evidence, load=load, start=start).run()
    distinct = {_part(one.fault): one for one in sorted(found, key=lambda one: one.score)}
    order = sorted(distinct.values(), key=lambda one: -one.score)
    unseen = tuple(one for one in order if search.is_congestion(one))
    return WindowExplanation(
        faults=tuple(one for one in order if one not in unseen), unseen=unseen, load=load
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _FaultSearch:
    """A search for the best set of faults.

    Where no flow may say too much, a small loss explains flows that lost everything as well as a
    large one, and those that lost nothing better: of a loss in one direction it would make one of
    both, or of the whole switch. So a loss must be near what the flows across it lost.
    """

    evidence: Evidence
    load: LoadJudgement
    start: Belief

    def run(self) -> list[Suspicion]:
        """Return the faults accepted one by one, each then exchanged for the best alternative."""
        accepted, first = self._grow()
        found: list[Suspicion] = []
        for _ in range(PASSES):
            before = list(accepted)
            found = self._exchange(accepted, first)
            accepted = [one.fault for one in found]
            if len(accepted) < 2 or {_part(one) for one in accepted} == {_part(o) for o in before}:
                break
        return found

    def _grow(self) -> tuple[list[FaultHypothesis], Scores]:
        """Return the faults accepted one by one, and the scores before the first of them."""
        accepted: list[FaultHypothesis] = []
        belief = self.start
        first = now = scores(self.evidence, belief)
        while len(accepted) < MAX_FAULTS:
            fits = partial(could_be, self.evidence, belief)
            ranked = now.ranked(COST, MAX_AT_ONCE, fits)
            if not ranked:
                break
            accepted += [measured(self.evidence, belief, one) for one in self._apart(ranked)]
            self._measure_again(accepted)
            belief = self._belief(accepted)
            now = scores(self.evidence, belief)
        return accepted, first

    def _apart(self, ranked: Sequence[tuple[float, FaultHypothesis]]) -> Iterator[FaultHypothesis]:
        """Give the best fault, and the best of others whose flows no better one shares."""
        taken = np.zeros(len(self.evidence.seen), dtype=bool)
        for _, fault in ranked:
            flows = self._flows(fault)
            if not taken[flows].any():
                yield fault
            taken[flows] = True

    def _flows(self, fault: FaultHypothesis) -> NDArray[np.int32]:
        return np.unique(self.evidence.crossing(links_of(self.evidence.fabric, fault))[1])

    def _around(self, fault: FaultHypothesis) -> NDArray[np.bool_]:
        """Return the links that flows across a fault cross: others explain nothing in its place."""
        near = np.zeros(self.evidence.fabric.num_links, dtype=bool)
        near[self.evidence.path_links(self._flows(fault).astype(np.int64))] = True
        near[np.flatnonzero(near) ^ 1] = True
        return near

    def _measure_again(self, accepted: list[FaultHypothesis]) -> None:
        """Measure losses that share flows, each with the others as they are now."""
        losses = [place for place, one in enumerate(accepted) if one.kind in LOSSES]
        for place in losses if 1 < len(losses) <= MAX_AT_ONCE else ():
            others = [one for number, one in enumerate(accepted) if number != place]
            accepted[place] = measured(self.evidence, self._belief(others), accepted[place])

    def _exchange(self, accepted: list[FaultHypothesis], first: Scores) -> list[Suspicion]:
        """Return what is best in the place of each fault, the others given; none if nothing is."""
        found: list[Suspicion] = []
        kept: list[FaultHypothesis | None] = list(accepted)
        for turn in range(len(accepted)):
            others = [one for place, one in enumerate(kept) if one and place != turn]
            belief = self._belief(others)
            left = first
            if others:
                left = scores(self.evidence, belief, self._around(accepted[turn]))
            fits = partial(could_be, self.evidence, belief)
            best = left.best(COST, fits)
            if best is None:
                kept[turn] = None
                continue
            fault = self._worse_way(belief, measured(self.evidence, belief, best[1]))
            kept[turn] = fault
            one_way = (fault.index,) if fault.scope is Scope.LINK else _one_way(left, best[1])
            found.append(replace(_weigh(left, *best, fits), fault=fault, one_way=one_way))
        return found

    def _worse_way(self, belief: Belief, fault: FaultHypothesis) -> FaultHypothesis:
        """Return a loss of a cable as that of one direction where it loses far more.

        A direction that loses many packets takes sessions down and up again, which costs the other
        some as well.
        """
        if fault.scope is not Scope.CABLE or fault.kind not in LOSSES:
            return fault
        ways = [replace(fault, scope=Scope.LINK, index=2 * fault.index + way) for way in (0, 1)]
        better, worse = sorted(
            (measured(self.evidence, belief, one) for one in ways), key=lambda one: one.magnitude
        )
        return worse if worse.magnitude > LOPSIDED * better.magnitude else fault

    def _belief(self, faults: Sequence[FaultHypothesis]) -> Belief:
        belief = self.start
        hurt = np.zeros(len(self.evidence.seen), dtype=bool)
        for fault in faults:
            if fault.kind in LOSSES:
                hurt[self._flows(fault)] = True
        if hurt.any():
            belief = without(self.evidence.seen, belief, hurt)
        return explained(self.evidence, belief, faults)

    def is_congestion(self, one: Suspicion) -> bool:
        """Return whether trouble in one direction sooner is congestion that its port hides."""
        fault = one.fault
        if self.load.share <= 0 or fault.scope is Scope.SWITCH or not _congestive(fault):
            return False  # no port shows any congestion, or congestion does nothing like it
        if self._has_dead_flows(fault):
            return False
        cable = fault.index // 2 if fault.scope is Scope.LINK else fault.index
        ways = one.one_way or (2 * cable, 2 * cable + 1)
        even = 0.0
        if fault.kind is FaultKind.DELAY:
            even = sum(self._steadiness(fault, link) for link in ways)
        if not one.one_way:
            return self.load.odds_of_cable(cable) + even < 0
        if fault.kind is FaultKind.SLOW:
            return self.load.odds_of_slow(ways[0]) < SURE
        return self.load.odds_of_link(ways[0]) + even < SURE

    def _has_dead_flows(self, fault: FaultHypothesis) -> bool:
        """Return whether flows across it lose most of their packets, as in no queue."""
        seen, flows = self.evidence.seen, self._flows(fault)
        return int(np.count_nonzero(2 * seen.lost[flows] > seen.packets[flows])) >= MIN_DEAD

    def _steadiness(self, fault: FaultHypothesis, link: int) -> float:
        """Return how much sooner a fault than a queue holds all flows up alike, as a log ratio."""
        seen, start = self.evidence.seen, self.start
        flows = self.evidence.crossing(np.array([link]))[1]
        alone = flows[(start.allowed.delay_s[flows] <= 0) & ~np.isnan(seen.delay_s[flows])]
        if not len(alone):
            return 0.0
        off = seen.delay_s[alone] - np.median(seen.delay_s[alone])
        steady = (start.delay_noise_s / WIDER) ** 2
        queue = steady + (QUEUE_SPREAD * fault.magnitude) ** 2
        each = 0.5 * np.log(queue / steady) + 0.5 * off**2 * (1 / queue - 1 / steady)
        return float(np.maximum(each, np.log(ODDITY)).sum())

    def wrong_paths(self, found: Sequence[Suspicion]) -> Oddity | None:
        """Return how odd flows are where paths prove wrong; None where they do not.

        Flows that cross a loss and should surely have lost packets, but did not, went another way;
        so others that did not cross it by the book suffered from it.
        """
        seen = self.evidence.seen
        num_sure = num_escaped = 0
        hurt = np.zeros(len(seen), dtype=bool)
        for one in found:
            flows = self._flows(one.fault)
            hurt[flows] = True
            if one.fault.kind is FaultKind.LOSS:
                sure = flows[seen.packets[flows] * one.fault.magnitude >= SURE_LOSSES]
                num_sure += len(sure)
                num_escaped += int(np.count_nonzero(seen.lost[sure] == 0))
        share = num_escaped / max(num_sure, 1)
        if num_sure < MIN_SURE or share < MIN_WRONG:
            return None
        return Oddity(suffers=max(ODDITY, share * float(hurt.mean())), escapes=share)


def _weigh(
    left: Scores, score: float, fault: FaultHypothesis, fits: Callable[[FaultHypothesis], bool]
) -> Suspicion:
    """Return the suspicion: a part's weight is that of all its kinds, magnitudes and directions.

    Rivals must fit too: see :class:`_FaultSearch`.
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


def _congestive(fault: FaultHypothesis) -> bool:
    """Return whether congestion does the same."""
    if fault.kind in LOSSES:
        return fault.magnitude <= MOST_LOSS
    if fault.kind is FaultKind.SLOW:
        return fault.magnitude <= MOST_SLOWDOWN
    return fault.kind is FaultKind.DELAY


def _one_way(left: Scores, fault: FaultHypothesis) -> tuple[int, ...]:
    """Return the link of a cable that speaks for a fault where the other direction does not."""
    if fault.scope is Scope.SWITCH:
        return ()
    cable = fault.index // 2 if fault.scope is Scope.LINK else fault.index
    says = {2 * cable + way: left.of_link(2 * cable + way, fault) for way in (0, 1)}
    return (max(says, key=says.__getitem__),) if min(says.values()) < ALONE else ()
