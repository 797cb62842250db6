"""What each flow should see: on a healthy fabric, under load, and with faults accepted so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate import likelihood
from netloom.ops.locate.faults import RARITY, FaultHypothesis, FaultKind
from netloom.ops.locate.fitting.evidence import links_of
from netloom.ops.locate.likelihood import USUAL, Oddity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.ops.locate.congested.judgement import Allowance, LoadJudgement
    from netloom.ops.locate.fitting.evidence import Evidence
    from netloom.ops.locate.observations import Observations

__all__ = ["Belief", "could_be", "explained", "healthy", "measured", "without"]

NEAR: Final = 10.0  # times a loss: neighbouring magnitudes are 3 apart
ODD_SHARE: Final = 0.02  # flows with the most losses that a measured rate leaves out
SPREAD: Final = 0.15  # of what a fault does to one flow and to another (assumed)
ENOUGH: Final = 5  # flows to measure a fault on
OF_EACH_SIZE: Final = 4  # flows, to tell what a part does to large packets alone
FEW: Final = 20  # flows of which none is left out
FAR: Final = 50.0  # of a log ratio: a flow that fits so badly is odd, not telling
LOSSES: Final = (FaultKind.LOSS, FaultKind.LARGE_LOSS)


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
        allowed: What congestion on its path may do to each flow besides.
        alone: Flows to measure scatter on: those that cross no congestion, or all.
        crossed: Packets that each flow sent, times the links that it crossed.
        oddity: How often a flow's outcome has a cause of its own.
    """

    loss: NDArray[np.float64]
    slowdown: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    rate_noise: float
    delay_noise_s: float
    base_loss: float
    allowed: Allowance
    alone: NDArray[np.bool_]
    crossed: NDArray[np.float64]
    oddity: Oddity = USUAL


def healthy(seen: Observations, load: LoadJudgement, oddity: Oddity = USUAL) -> Belief:
    """Return what flows see of a fabric in which nothing is broken.

    Args:
        seen: What was seen.
        load: Which links are congested, and what that explains.
        oddity: How often a flow's outcome has a cause of its own.
    """
    num_links = np.maximum(np.diff(seen.paths.offsets), 1)
    allowed = load.allowance(seen)
    alone = _unhindered(allowed)
    crossed = (seen.packets * num_links).astype(float)
    base_loss = likelihood.base_loss(seen.lost[alone], crossed[alone])
    elsewhere = alone & ~_worst(seen, alone)
    if np.count_nonzero(elsewhere) >= likelihood.MIN_COUNT:
        there = likelihood.base_loss(seen.lost[elsewhere], crossed[elsewhere])
        base_loss = min(base_loss, there)
    return Belief(
        base_loss=base_loss,
        loss=base_loss * num_links,
        slowdown=np.ones(len(seen)),
        delay_s=np.zeros(len(seen)),
        rate_noise=likelihood.rate_noise(seen.slowdown[alone]),
        delay_noise_s=likelihood.delay_noise_s(seen.delay_s[alone]),
        allowed=allowed,
        alone=alone,
        crossed=crossed,
        oddity=oddity,
    )


def _worst(seen: Observations, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the flows across the cable that most flows with losses cross, beyond its share.

    In a small network one bad cable would otherwise pass for what all links lose.
    """
    hurt = (seen.lost > 0) & among
    worst = np.zeros(len(seen), dtype=bool)
    if not hurt.any():
        return worst
    links = seen.paths.links
    num_cables = int(links.max()) // 2 + 1
    usual = _of_cables(seen, among, num_cables) * (np.count_nonzero(hurt) / np.count_nonzero(among))
    excess = (_of_cables(seen, hurt, num_cables) - usual) / np.sqrt(usual + 1)
    crossings = np.flatnonzero(links >> 1 == int(excess.argmax()))
    worst[np.searchsorted(seen.paths.offsets, crossings, side="right") - 1] = True
    return worst


def _of_cables(
    seen: Observations, flows: NDArray[np.bool_], num_cables: int
) -> NDArray[np.float64]:
    """Return how many times *flows* cross each cable."""
    links = seen.paths.links
    if not flows.all():
        links = links[np.repeat(flows, np.diff(seen.paths.offsets))]
    count = np.bincount(links, minlength=2 * num_cables)
    return (count[0::2] + count[1::2]).astype(np.float64)


def without(seen: Observations, belief: Belief, hurt: NDArray[np.bool_]) -> Belief:
    """Return the belief with what a healthy link loses measured on flows that no fault hurts.

    Args:
        seen: What was seen.
        belief: Of a fabric in which nothing is broken.
        hurt: Flows that cross a fault known so far; where most do, the others tell more.
    """
    alone = belief.alone & ~hurt
    if np.count_nonzero(alone) < likelihood.MIN_COUNT:
        return belief
    base_loss = likelihood.base_loss(seen.lost[alone], belief.crossed[alone])
    num_links = np.maximum(np.diff(seen.paths.offsets), 1)
    return replace(belief, base_loss=base_loss, loss=base_loss * num_links)


def _unhindered(allowed: Allowance) -> NDArray[np.bool_]:
    """Return the flows that cross no congestion, to measure scatter on; all if there are few."""
    alone = (allowed.loss <= 0) & (allowed.slowdown <= 1) & (allowed.delay_s <= 0)
    enough = np.count_nonzero(alone) >= likelihood.MIN_COUNT
    return np.asarray(alone if enough else np.ones_like(alone))


def measured(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> FaultHypothesis:
    """Return *fault* with its magnitude as the flows that cross it saw it, odd ones left out.

    Many magnitudes explain heavy losses alike, and losses of large packets as losses of all, once
    no flow may say too much: which of them it is, is measured here.
    """
    seen = evidence.seen
    flows = np.unique(evidence.crossing(links_of(evidence.fabric, fault))[1])
    if fault.kind is FaultKind.DELAY:
        more = (seen.delay_s - belief.delay_s)[_unloaded(flows, belief.allowed.delay_s)]
        more = more[~np.isnan(more)]
        return replace(fault, magnitude=float(np.median(more))) if len(more) else fault
    if fault.kind is FaultKind.BLACK_HOLE and _spares_small(seen, flows):
        return replace(fault, kind=FaultKind.LARGE_LOSS, magnitude=0.999)
    if fault.kind not in {FaultKind.LOSS, FaultKind.LARGE_LOSS}:
        return fault
    found = [_fitted(seen, belief, flows, replace(fault, kind=kind)) for kind in LOSSES]
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: one[0])[1] if known else fault


def _spares_small(seen: Observations, flows: NDArray[np.int32]) -> bool:
    """Return whether flows of large packets lose all and those of small ones nothing: an MTU."""
    dead, large = seen.lost[flows] >= seen.packets[flows], seen.is_large[flows]
    if min(np.count_nonzero(large), np.count_nonzero(~large)) < OF_EACH_SIZE:
        return False
    return bool(np.mean(dead[large]) >= 1 - ODD_SHARE and np.mean(dead[~large]) <= ODD_SHARE)


def _unloaded(flows: NDArray[np.int32], allowed: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the flows that nothing else may have hurt; all where these are too few."""
    alone = flows[allowed[flows] <= 0]
    return alone if len(alone) >= min(ENOUGH, len(flows)) else flows


def could_be(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> bool:
    """Return whether a loss is near what the flows across it lost; others always could be."""
    if fault.kind not in LOSSES:
        return True
    flows = np.unique(evidence.crossing(links_of(evidence.fabric, fault))[1])
    found = _fitted(evidence.seen, belief, flows, fault)
    return found is not None and found[1].magnitude < NEAR * fault.magnitude


def _fitted(
    seen: Observations, belief: Belief, flows: NDArray[np.int32], fault: FaultHypothesis
) -> tuple[float, FaultHypothesis] | None:
    """Return how well a loss fits and with which rate; None when its flows lost nothing more."""
    hit = flows if fault.kind is FaultKind.LOSS else flows[seen.is_large[flows]]
    hit = _unloaded(hit, belief.allowed.loss)
    rate = _rate(seen, belief, _typical(seen, belief, hit))
    if rate <= 0:
        return None
    rate = min(rate, 0.999)
    lost, packets = seen.lost[hit].astype(float), seen.packets[hit].astype(float)
    fit = np.clip(likelihood.lost_ratio(lost, packets, belief.loss[hit], rate), -FAR, FAR)
    return float(fit.sum()) + RARITY[fault.kind], replace(fault, magnitude=rate)


def _typical(seen: Observations, belief: Belief, flows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the flows whose losses chance explains, by the rate of all but the worst of them."""
    if len(flows) <= FEW:
        return flows
    share = seen.lost[flows] / np.maximum(seen.packets[flows], 1)
    most = flows[share <= np.quantile(share, 1 - ODD_SHARE)]
    usual = seen.packets[flows] * (belief.loss[flows] + max(0.0, _rate(seen, belief, most)))
    is_usual = seen.lost[flows] <= 1.3 * usual + 5 * np.sqrt(usual) + 3
    return np.asarray(flows[is_usual])


def _rate(seen: Observations, belief: Belief, flows: NDArray[np.int32]) -> float:
    """Return the share of packets that *flows* lost beyond what is believed."""
    packets = seen.packets[flows]
    sent = max(int(packets.sum()), 1)
    return float((seen.lost[flows].sum() - belief.loss[flows] @ packets) / sent)


def explained(evidence: Evidence, belief: Belief, faults: Sequence[FaultHypothesis]) -> Belief:
    """Return the belief with *faults* accepted, one after another.

    A fault hurts flows by about its magnitude, not all alike: what is within :data:`SPREAD` of it,
    or of a slow part anything up to what its slowest flows saw, needs no second cause.
    """
    changed = _copied(belief, {fault.kind for fault in faults})
    for fault in faults:
        _accept(evidence, changed, fault)
    return changed


def _copied(belief: Belief, kinds: set[FaultKind]) -> Belief:
    """Return a belief of whose arrays those that faults of *kinds* change are its own."""
    allowed = belief.allowed
    if FaultKind.SLOW in kinds:
        allowed = replace(allowed, slowdown=allowed.slowdown.copy())
    if FaultKind.DELAY in kinds:
        allowed = replace(allowed, delay_s=allowed.delay_s.copy())
        belief = replace(belief, delay_s=belief.delay_s.copy())
    if kinds - {FaultKind.SLOW, FaultKind.DELAY}:
        allowed = replace(allowed, loss=allowed.loss.copy())
        belief = replace(belief, loss=belief.loss.copy())
    return replace(belief, allowed=allowed)


def _accept(evidence: Evidence, belief: Belief, fault: FaultHypothesis) -> None:
    """Add to the belief's own arrays what *fault* does."""
    seen, allowed = evidence.seen, belief.allowed
    crossing = np.unique(evidence.crossing(links_of(evidence.fabric, fault))[1])
    if fault.kind is FaultKind.SLOW:
        slowest = _slowest(seen, crossing, fault)
        allowed.slowdown[crossing] = np.maximum(allowed.slowdown[crossing], slowest)
        return
    low, span = (1 - SPREAD) * fault.magnitude, 2 * SPREAD * fault.magnitude
    if fault.kind is FaultKind.DELAY:
        belief.delay_s[crossing] += low
        allowed.delay_s[crossing] += span
        return
    if fault.kind is FaultKind.LARGE_LOSS:
        crossing = crossing[seen.is_large[crossing]]
    if fault.kind is FaultKind.BLACK_HOLE:
        crossing = crossing[seen.lost[crossing] >= seen.packets[crossing]]
        low, span = 0.999, 0.0
    belief.loss[crossing] = 1 - (1 - belief.loss[crossing]) * (1 - low)
    allowed.loss[crossing] += span


def _slowest(seen: Observations, flows: NDArray[np.int32], fault: FaultHypothesis) -> float:
    """Return up to what a slow part slows its flows, odd ones left out."""
    known = seen.slowdown[flows]
    known = known[~np.isnan(known)]
    most = float(np.quantile(known, 0.95)) if len(known) else 1.0
    return max((1 + SPREAD) * fault.magnitude, most)
