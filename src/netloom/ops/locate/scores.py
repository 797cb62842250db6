"""How well each single fault would explain what was seen, given faults already accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.graph import VertexKind
from netloom.ops.locate import likelihood
from netloom.ops.locate.faults import MAGNITUDES, FaultHypothesis, FaultKind, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.observations import Observations

__all__ = [
    "Belief",
    "Evidence",
    "Scored",
    "Scores",
    "could_be",
    "evidence_of",
    "explained",
    "healthy",
    "measured",
    "scores",
]

# Logarithm of how rare each kind is beside a plain loss or a slow part.
RARITY: Final = {
    FaultKind.LOSS: 0.0,
    FaultKind.SLOW: 0.0,
    FaultKind.DELAY: -1.0,
    FaultKind.LARGE_LOSS: -2.0,
    FaultKind.BLACK_HOLE: -2.0,
}
SCOPE_RARITY: Final = {Scope.LINK: -1.0, Scope.CABLE: 0.0, Scope.SWITCH: -1.0}
MIN_FLOWS: Final = 2  # in trouble on a link before it is looked at: one never convicts
BAD_SHARE: Final = 0.15  # of the flows through a switch in trouble before it is
NEAR: Final = 10.0  # times a loss: neighbouring magnitudes are 3 apart
ODD_SHARE: Final = 0.02  # flows with the most losses that a measured rate leaves out
FAR: Final = 50.0  # of a log ratio: a flow that fits so badly is odd, not telling
_KINDS: Final = tuple(MAGNITUDES)
_LOSSES: Final = (FaultKind.LOSS, FaultKind.LARGE_LOSS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """What each flow should see, the accepted faults included.

    Attributes:
        loss: Share of packets lost.
        slowdown: Times longer.
        delay_s: Longer round trip.
        rate_noise: How much the logarithm of healthy slowdowns scatters here.
        delay_noise_s: How much healthy round trips do.
        base_loss: Share of packets that a healthy link loses.
    """

    loss: NDArray[np.float64]
    slowdown: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    rate_noise: float
    delay_noise_s: float
    base_loss: float


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

    def best(self) -> tuple[float, FaultHypothesis] | None:
        """Return the most likely fault and its score; None when nothing was seen at all."""
        found = [(float(row.value.max()), row) for row in self.rows if len(row.value)]
        if not found:
            return None
        score, row = max(found, key=lambda one: one[0])
        return score, _fault(row, int(row.value.argmax()))

    def above(self, least: float) -> Iterator[tuple[float, FaultHypothesis]]:
        """Yield every fault that scores more than *least*."""
        for row in self.rows:
            for index in np.flatnonzero(row.value > least).tolist():
                yield float(row.value[index]), _fault(row, index)


def _fault(row: Scored, index: int) -> FaultHypothesis:
    part = int(row.index[index])
    return FaultHypothesis(scope=row.scope, index=part, kind=row.kind, magnitude=row.magnitude)


def healthy(seen: Observations) -> Belief:
    """Return what flows see of a fabric in which nothing is broken."""
    num_links = np.maximum(np.diff(seen.paths.offsets), 1)
    base_loss = likelihood.base_loss(
        seen.lost.astype(float), (seen.packets * num_links).astype(float)
    )
    return Belief(
        base_loss=base_loss,
        loss=base_loss * num_links,
        slowdown=np.ones(len(seen)),
        delay_s=np.zeros(len(seen)),
        rate_noise=likelihood.rate_noise(seen.slowdown),
        delay_noise_s=likelihood.delay_noise_s(seen.delay_s),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Observations of a fabric, with the flows of each link at hand.

    Attributes:
        wires: Whether each link has a switch at one end: only those are suspected.
        begin: Where each link's flows begin in *flows*, and the end of the last.
        flows: The flows that cross each link, link by link.
    """

    fabric: Fabric
    seen: Observations
    wires: NDArray[np.bool_]
    begin: NDArray[np.int64]
    flows: NDArray[np.int32]

    def crossing(self, links: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the crossings of *links*: which of them, and the flow."""
        count = self.begin[links + 1] - self.begin[links]
        which = np.repeat(np.arange(len(links)), count)
        first = np.repeat(self.begin[links] - np.cumsum(count) + count, count)
        return which, self.flows[first + np.arange(len(which))]

    def path_links(self, flows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return all links that *flows* cross, flow by flow."""
        begin = self.seen.paths.offsets[flows]
        count = self.seen.paths.offsets[flows + 1] - begin
        first = np.repeat(begin - np.cumsum(count) + count, count)
        return self.seen.paths.links[first + np.arange(int(count.sum()))]


def evidence_of(fabric: Fabric, seen: Observations) -> Evidence:
    """Return *seen* put in order by link."""
    links = seen.paths.links
    order = np.argsort(links, kind="stable")
    counts = np.bincount(links, minlength=fabric.num_links)
    return Evidence(
        fabric=fabric,
        seen=seen,
        wires=_wires(fabric),
        begin=np.concatenate([[0], np.cumsum(counts)]),
        flows=seen.flow_of_crossing()[order].astype(np.int32),
    )


def measured(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> FaultHypothesis:
    """Return *fault* with its magnitude as the flows that cross it saw it, odd ones left out.

    Many magnitudes explain heavy losses alike, and losses of large packets as losses of all, once
    no flow may say too much: which of them it is, is measured here.
    """
    seen = evidence.seen
    flows = np.unique(evidence.crossing(_links_of(evidence.fabric, fault))[1])
    if fault.kind is FaultKind.DELAY:
        more = (seen.delay_s - belief.delay_s)[flows]
        more = more[~np.isnan(more)]
        return replace(fault, magnitude=float(np.median(more))) if len(more) else fault
    if fault.kind not in {FaultKind.LOSS, FaultKind.LARGE_LOSS}:
        return fault
    found = [_fitted(seen, belief, flows, replace(fault, kind=kind)) for kind in _LOSSES]
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: one[0])[1] if known else fault


def could_be(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> bool:
    """Return whether a loss is near what the flows across it lost; others always could be."""
    if fault.kind not in _LOSSES:
        return True
    flows = np.unique(evidence.crossing(_links_of(evidence.fabric, fault))[1])
    found = _fitted(evidence.seen, belief, flows, fault)
    return found is not None and found[1].magnitude < NEAR * fault.magnitude


def _fitted(
    seen: Observations, belief: Belief, flows: NDArray[np.int32], fault: FaultHypothesis
) -> tuple[float, FaultHypothesis] | None:
    """Return how well a loss fits and with which rate; None when its flows lost nothing more."""
    hit = flows if fault.kind is FaultKind.LOSS else flows[seen.is_large[flows]]
    share = seen.lost[hit] / np.maximum(seen.packets[hit], 1)
    usual = hit[share <= np.quantile(share, 1 - ODD_SHARE)] if len(hit) > 20 else hit
    sent = seen.packets[usual].sum()
    if not sent:
        return None
    rate = seen.lost[usual].sum() / sent - belief.loss[usual] @ seen.packets[usual] / sent
    if rate <= 0:
        return None
    rate = float(min(rate, 0.999))
    lost, packets = seen.lost[hit].astype(float), seen.packets[hit].astype(float)
    fit = np.clip(likelihood.lost_ratio(lost, packets, belief.loss[hit], rate), -FAR, FAR)
    return float(fit.sum()) + RARITY[fault.kind], replace(fault, magnitude=rate)


def explained(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> Belief:
    """Return the belief with *fault* accepted."""
    seen = evidence.seen
    crossing = np.unique(evidence.crossing(_links_of(evidence.fabric, fault))[1])
    if fault.kind is FaultKind.SLOW:
        slowdown = belief.slowdown.copy()
        slowdown[crossing] = np.maximum(slowdown[crossing], fault.magnitude)
        return replace(belief, slowdown=slowdown)
    if fault.kind is FaultKind.DELAY:
        delay_s = belief.delay_s.copy()
        delay_s[crossing] += fault.magnitude
        return replace(belief, delay_s=delay_s)
    if fault.kind is FaultKind.LARGE_LOSS:
        crossing = crossing[seen.is_large[crossing]]
    if fault.kind is FaultKind.BLACK_HOLE:
        crossing = crossing[seen.lost[crossing] >= seen.packets[crossing]]
    rate = 0.999 if fault.kind is FaultKind.BLACK_HOLE else fault.magnitude
    loss = belief.loss.copy()
    loss[crossing] = 1 - (1 - loss[crossing]) * (1 - rate)
    return replace(belief, loss=loss)


def _links_of(fabric: Fabric, fault: FaultHypothesis) -> NDArray[np.int64]:
    """Return the links of a part; of a switch, those that enter it."""
    if fault.scope is Scope.LINK:
        return np.array([fault.index])
    if fault.scope is Scope.CABLE:
        return np.array([2 * fault.index, 2 * fault.index + 1])
    return np.flatnonzero(fabric.link_target == fault.index)


def scores(evidence: Evidence, belief: Belief) -> Scores:
    """Return the score of every single fault beyond what *belief* already explains."""
    rows: list[Scored] = []
    for kind in _KINDS:
        part = _KindCrossings.of(evidence, belief, kind)
        if len(part.links):
            for magnitude in MAGNITUDES[kind]:
                by_link = part.by_link(magnitude) + RARITY[kind]
                rows.extend(_scopes(part, kind, magnitude, by_link))
    return Scores(tuple(rows))


def _wires(fabric: Fabric) -> NDArray[np.bool_]:
    """Return the links that have a switch at one end: those of the network."""
    kind = fabric.vertex_kind
    switch = kind == VertexKind.SWITCH
    return np.asarray(switch[fabric.link_source] | switch[fabric.link_target])


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
    def of(cls, evidence: Evidence, belief: Belief, kind: FaultKind) -> _KindCrossings:
        seen, fabric = evidence.seen, evidence.fabric
        trouble = np.flatnonzero(_in_trouble(seen, belief, kind))
        hit = np.bincount(evidence.path_links(trouble), minlength=fabric.num_links)
        wanted = hit >= MIN_FLOWS
        if kind is FaultKind.LOSS:
            wanted |= (seen.link_errors > 0) & (hit > 0)
        wanted |= wanted[np.arange(fabric.num_links) ^ 1]
        bad = _bad_switches(evidence, hit)
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
        if self.kind is FaultKind.SLOW:
            times, before = seen.slowdown[flows], belief.slowdown[flows]
            return likelihood.slowed(times, before, magnitude, belief.rate_noise)
        if self.kind is FaultKind.DELAY:
            late_s, before_s = seen.delay_s[flows], belief.delay_s[flows]
            return likelihood.delayed(late_s, before_s, magnitude, belief.delay_noise_s)
        lost, packets = seen.lost[flows].astype(float), seen.packets[flows].astype(float)
        if self.kind is FaultKind.BLACK_HOLE:
            return likelihood.dead(lost, packets, belief.loss[flows], magnitude)
        say = likelihood.lost(lost, packets, belief.loss[flows], magnitude)
        return say if self.kind is FaultKind.LOSS else np.where(seen.is_large[flows], say, 0.0)


def _bad_switches(evidence: Evidence, hit: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the switches much of whose traffic is in trouble."""
    fabric = evidence.fabric
    into, count = fabric.link_target, fabric.num_vertices
    bad = np.bincount(into, weights=hit, minlength=count)
    crossed = np.bincount(into, weights=np.diff(evidence.begin), minlength=count)
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    return np.asarray(is_switch & (bad > BAD_SHARE * crossed))


def _in_trouble(seen: Observations, belief: Belief, kind: FaultKind) -> NDArray[np.bool_]:
    """Return the flows that saw more of what this kind does than is believed so far."""
    if kind is FaultKind.SLOW:
        return np.asarray(seen.slowdown > belief.slowdown * np.exp(2 * belief.rate_noise))
    if kind is FaultKind.DELAY:
        return np.asarray(seen.delay_s > belief.delay_s + 2 * belief.delay_noise_s)
    if kind is FaultKind.BLACK_HOLE:
        return np.asarray((seen.lost >= seen.packets) & (seen.packets > 0) & (belief.loss < 0.5))
    usual = seen.packets * belief.loss
    return np.asarray(seen.lost > usual + 3 * np.sqrt(usual) + 0.5)
