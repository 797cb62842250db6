"""How well each single fault would explain what was seen, given faults already accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate import likelihood
from netloom.ops.locate.faults import MAGNITUDES, RARITY, FaultHypothesis, FaultKind, Scope
from netloom.ops.locate.fitting.evidence import bad_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from netloom.ops.locate.fitting.beliefs import Belief
    from netloom.ops.locate.fitting.evidence import Evidence
    from netloom.ops.locate.observations import Observations

__all__ = ["Scored", "Scores", "scores"]

SCOPE_RARITY: Final = {Scope.LINK: -1.0, Scope.CABLE: 0.0, Scope.SWITCH: -1.0}
MIN_FLOWS: Final = 2  # in trouble on a link before it is looked at: one never convicts
_KINDS: Final = tuple(MAGNITUDES)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The log likelihood ratio of one kind and magnitude for parts of one scope."""

    scope: Scope
    kind: FaultKind
    magnitude: float
    index: NDArray[np.int64]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """All single faults."""

    rows: tuple[Scored, ...]

    def best(
        self, least: float, fits: Callable[[FaultHypothesis], bool]
    ) -> tuple[float, FaultHypothesis] | None:
        """Return the most likely fault that fits, and its score; None when none beats *least*."""
        for value, row, place in self._descending(least):
            fault = _fault(row, place)
            if fits(fault):
                return value, fault
        return None

    def of_link(self, link: int, like: FaultHypothesis) -> float:
        """Return the score of one direction for a fault of the kind and magnitude of *like*."""
        for row in self.rows:
            if (row.scope, row.kind, row.magnitude) == (Scope.LINK, like.kind, like.magnitude):
                place = np.flatnonzero(row.index == link)
                if len(place):
                    return float(row.value[place[0]])
        return 0.0

    def ranked(
        self, least: float, most: int, fits: Callable[[FaultHypothesis], bool]
    ) -> list[tuple[float, FaultHypothesis]]:
        """Return up to *most* faults that fit and score more than *least*, one of each part."""
        best: dict[tuple[Scope, int], tuple[float, FaultHypothesis]] = {}
        for value, row, place in self._descending(least):
            fault = _fault(row, place)
            if (fault.scope, fault.index) not in best and fits(fault):
                best[fault.scope, fault.index] = value, fault
                if len(best) == most:
                    break
        return list(best.values())

    def above(self, least: float) -> Iterator[tuple[float, FaultHypothesis]]:
        """Yield every fault that scores more than *least*."""
        for row in self.rows:
            for index in np.flatnonzero(row.value > least).tolist():
                yield float(row.value[index]), _fault(row, index)

    def _descending(self, least: float) -> Iterator[tuple[float, Scored, int]]:
        """Yield what scores more than *least*, the best first."""
        places = [np.flatnonzero(row.value > least) for row in self.rows]
        if not places:
            return
        value = np.concatenate([row.value[at] for row, at in zip(self.rows, places, strict=True)])
        which = np.repeat(np.arange(len(places)), [len(at) for at in places])
        place = np.concatenate(places)
        for one in np.argsort(-value, kind="stable").tolist():
            yield float(value[one]), self.rows[which[one]], int(place[one])


def _fault(row: Scored, index: int) -> FaultHypothesis:
    part = int(row.index[index])
    return FaultHypothesis(scope=row.scope, index=part, kind=row.kind, magnitude=row.magnitude)


def scores(evidence: Evidence, belief: Belief, around: NDArray[np.bool_] | None = None) -> Scores:
    """Return the score of every single fault beyond what *belief* already explains.

    Args:
        evidence: What was seen.
        belief: What is known so far.
        around: Only links among these are looked at, where given.
    """
    rows: list[Scored] = []
    for kind in _KINDS:
        part = _KindCrossings.of(evidence, belief, kind, around)
        if len(part.links):
            for magnitude in MAGNITUDES[kind]:
                by_link = part.by_link(magnitude) + RARITY[kind]
                rows.extend(_scopes(part, kind, magnitude, by_link))
    return Scores(tuple(rows))


def _scopes(
    part: _KindCrossings, kind: FaultKind, magnitude: float, by_link: NDArray[np.float64]
) -> Iterator[Scored]:
    """Yield the scores of links, of cables as the sum of both ways, of switches by what enters."""
    links = part.links
    yield Scored(Scope.LINK, kind, magnitude, links, by_link + SCOPE_RARITY[Scope.LINK])
    both = np.asarray(np.bincount(part.cable, weights=by_link), dtype=np.float64)
    yield Scored(Scope.CABLE, kind, magnitude, part.cables, both + SCOPE_RARITY[Scope.CABLE])
    if len(part.switches):
        into = np.bincount(part.switch, weights=by_link, minlength=len(part.switches) + 1)[:-1]
        whole = np.asarray(into + SCOPE_RARITY[Scope.SWITCH], dtype=np.float64)
        yield Scored(Scope.SWITCH, kind, magnitude, part.switches, whole)


@dataclass(frozen=True, slots=True, eq=False)
class _KindCrossings:
    """The crossings that matter for one kind: those of links that flows in trouble crossed.

    Attributes:
        links: Links that could be to blame.
        which: Of each crossing, which of the links.
        flows: The flows that cross them.
        place: Of each crossing's flow among them.
        cables: The cables of the links; *cable* is the place of each link's own among them.
        switches: Switches much of whose traffic is in trouble; *switch* is the place of the one
            that each link enters among them, one past the last for others.
    """

    seen: Observations
    belief: Belief
    kind: FaultKind
    links: NDArray[np.int64]
    which: NDArray[np.int64]
    flows: NDArray[np.int64]
    place: NDArray[np.int64]
    cables: NDArray[np.int64]
    cable: NDArray[np.int64]
    switches: NDArray[np.int64]
    switch: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        belief: Belief,
        kind: FaultKind,
        around: NDArray[np.bool_] | None,
    ) -> _KindCrossings:
        seen, fabric = evidence.seen, evidence.fabric
        trouble = _in_trouble(evidence, belief, kind)
        hit = np.bincount(evidence.path_links(trouble), minlength=fabric.num_links)
        wanted = hit >= MIN_FLOWS
        if kind is FaultKind.LOSS:
            wanted |= (seen.link_errors > 0) & (hit > 0)
        wanted = np.repeat(wanted[0::2] | wanted[1::2], 2)
        if around is not None:
            wanted &= around
        bad = bad_switches(evidence, hit)
        if around is not None:
            bad &= np.bincount(fabric.link_target[around], minlength=fabric.num_vertices) > 0
        wanted |= bad[fabric.link_target]
        links = np.flatnonzero(wanted & evidence.wires)
        which, crossing = evidence.crossing(links)
        flows, place = np.unique(crossing.astype(np.int64), return_inverse=True)
        cables, cable = np.unique(links // 2, return_inverse=True)
        switches = np.flatnonzero(bad)
        number = np.full(fabric.num_vertices, len(switches))
        number[switches] = np.arange(len(switches))
        switch = number[fabric.link_target[links]]
        return cls(seen, belief, kind, links, which, flows, place, cables, cable, switches, switch)

    def by_link(self, magnitude: float) -> NDArray[np.float64]:
        """Return each link's score: what the flows that cross it say, and its own counters."""
        say = self._say(magnitude)
        total = np.bincount(self.which, weights=say[self.place], minlength=len(self.links))
        if self.kind is not FaultKind.LOSS:
            return np.asarray(total, dtype=np.float64)
        errors = self.seen.link_errors[self.links].astype(float)
        packets = self.seen.link_packets[self.links].astype(float)
        own = likelihood.counted(errors, packets, self.belief.base_loss, magnitude)
        return np.asarray(total + own, dtype=np.float64)

    def _say(self, magnitude: float) -> NDArray[np.float64]:
        seen, belief, flows = self.seen, self.belief, self.flows
        allowed, odd = belief.allowed, belief.oddity
        if self.kind is FaultKind.SLOW:
            times = seen.slowdown[flows]
            before = np.maximum(belief.slowdown[flows], np.minimum(times, allowed.slowdown[flows]))
            return likelihood.slowed(times, before, magnitude, belief.rate_noise, odd)
        if self.kind is FaultKind.DELAY:
            late_s = seen.delay_s[flows] - belief.delay_s[flows]
            return likelihood.delayed(
                late_s, allowed.delay_s[flows], magnitude, belief.delay_noise_s, odd
            )
        lost, packets = seen.lost[flows].astype(float), seen.packets[flows].astype(float)
        before = belief.loss[flows]
        if self.kind is FaultKind.BLACK_HOLE:
            usual = np.minimum(before + allowed.loss[flows], likelihood.MAX_LOSS)
            return likelihood.dead(lost, packets, usual, magnitude, odd)
        say = likelihood.lost(lost, packets, before, magnitude, allowed.loss[flows], odd)
        return say if self.kind is FaultKind.LOSS else np.where(seen.is_large[flows], say, 0.0)


def _in_trouble(evidence: Evidence, belief: Belief, kind: FaultKind) -> NDArray[np.int64]:
    """Return the flows that saw more of what this kind does than is believed so far."""
    seen, allowed = evidence.seen, belief.allowed
    if kind is FaultKind.SLOW:
        usual = np.maximum(belief.slowdown, allowed.slowdown)
        return np.flatnonzero(seen.slowdown > usual * np.exp(2 * belief.rate_noise))
    if kind is FaultKind.DELAY:
        usual = belief.delay_s + allowed.delay_s
        return np.flatnonzero(seen.delay_s > usual + 2 * belief.delay_noise_s)
    flows = evidence.lossy
    lost, packets, loss = seen.lost[flows], seen.packets[flows], belief.loss[flows]
    if kind is FaultKind.BLACK_HOLE:
        gone = (lost >= packets) & (packets > 0)
        return flows[gone & (loss + allowed.loss[flows] < 0.5)]
    usual = packets * (loss + allowed.loss[flows])
    return np.asarray(flows[lost > usual + 3 * np.sqrt(usual) + 0.5])
