"""Congestion laid over a scene, and what its ports tell of it: to try locating on.

A share of the links is congested: receivers of an incast (the last links to a NIC), and links of
switches that more flows share than they should. How hard one is hit decides all it does: a queue of
5 to 100 us that no two probes meet alike, flows slowed by up to 2, and on a part of the fabrics
losses of 1e-6 to 3e-4. Ports tell of it as real ones do: marks from a queue of a few microseconds
on and with a share of their own, the deepest queue of the window, pauses behind deep ones, drops,
bytes. A tenth of the ports tell nothing of queues, a tenth are late and tell of the window before
in part, one in twenty has no marking, and healthy ones have bursts. A slow part has a queue at its
sender too, of a line that is far from busy. Nothing here knows what the locator expects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bench.locate_scene import watch
from netloom.fabric.graph import VertexKind
from netloom.ops.locate.faults import FaultKind, Scope
from netloom.ops.locate.observations import PortLoad

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.locate_scene import Scene
    from netloom.fabric.graph import Fabric
    from netloom.ops.locate.faults import FaultHypothesis
    from netloom.ops.locate.observations import Observations

    Array = NDArray[np.float64]

__all__ = ["CongestionNoise", "congested_watch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionNoise:
    """What makes ports tell less than they could; all assumed.

    Attributes:
        missing: Share of ports that tell nothing of queues, marks, pauses or drops.
        late: Share of ports whose counters come late: what they tell is in part, or wholly, of
            the window before.
        unmarked: Share of ports without ECN.
        bursts: Share of healthy ports with a short queue and some marks.
        lossy: Share of fabrics in which a full queue loses packets instead of pausing.
        incast: Share of the congested links that lead to a receiver.
    """

    missing: float = 0.1
    late: float = 0.1
    unmarked: float = 0.05
    bursts: float = 0.03
    lossy: float = 0.5
    incast: float = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class _Congested:
    """What congestion does on each link; nothing on most."""

    hard: Array
    delay_s: Array
    slowdown: Array
    loss: Array


def congested_watch(
    scene: Scene,
    faults: tuple[FaultHypothesis, ...],
    rng: np.random.Generator,
    share: float,
    noise: CongestionNoise | None = None,
) -> Observations:
    """Return what one window shows of *scene* with *faults* and a *share* of links congested."""
    noise = noise or CongestionNoise()
    is_lossy = rng.random() < noise.lossy
    hit = _congested(scene.fabric, rng, share, noise, is_lossy=is_lossy)
    calm = watch(scene, faults, rng)
    slow = _slow_links(scene.fabric, faults, calm)
    told = _told(hit, slow, rng, noise, is_lossy=is_lossy)
    return replace(_suffered(calm, hit, rng), load=told)


def _wires(fabric: Fabric) -> NDArray[np.int64]:
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    return np.flatnonzero(is_switch[fabric.link_source] | is_switch[fabric.link_target])


def _congested(
    fabric: Fabric,
    rng: np.random.Generator,
    share: float,
    noise: CongestionNoise,
    *,
    is_lossy: bool,
) -> _Congested:
    wires = _wires(fabric)
    is_last = fabric.vertex_kind[fabric.link_target[wires]] == VertexKind.NIC
    # Hosts seldom queue in their own sending port more than others: all others are alike.
    weight = np.where(is_last, noise.incast / is_last.sum(), (1 - noise.incast) / (~is_last).sum())
    count = round(share * len(wires))
    links = rng.choice(wires, count, replace=False, p=weight / weight.sum())
    hard = np.zeros(fabric.num_links)
    hard[links] = rng.random(count)
    none = np.zeros(fabric.num_links)
    delay_s, slowdown, loss = none.copy(), none + 1, none.copy()
    delay_s[links] = 5e-6 * 20 ** hard[links]
    slowdown[links] = 1 + hard[links] * rng.uniform(0.3, 1.0, count)
    if is_lossy:
        loss[links] = 10 ** np.clip(-6 + 2.5 * hard[links] + rng.normal(0, 0.4, count), -6, -3.52)
    return _Congested(hard, delay_s, slowdown, loss)


def _suffered(seen: Observations, hit: _Congested, rng: np.random.Generator) -> Observations:
    """Return *seen* with what congestion does to each flow added."""
    flow, links, count = seen.flow_of_crossing(), seen.paths.links, len(seen)
    queue_s = hit.delay_s[links] * rng.gamma(4.0, 0.25, len(links))  # mean 1
    delay_s = seen.delay_s + np.bincount(flow, weights=queue_s, minlength=count)
    slow = np.ones(count)
    own = 1 + (hit.slowdown[links] - 1) * rng.uniform(0.4, 1.0, len(links))
    np.maximum.at(slow, flow, own)
    kept = np.bincount(flow, weights=np.log1p(-hit.loss[links]), minlength=count)
    more = rng.binomial(seen.packets - seen.lost, -np.expm1(kept))
    return replace(seen, delay_s=delay_s, slowdown=seen.slowdown * slow, lost=seen.lost + more)


def _told(
    hit: _Congested,
    slow: Array,
    rng: np.random.Generator,
    noise: CongestionNoise,
    *,
    is_lossy: bool,
) -> PortLoad:
    """Return what the sending port of each link tells."""
    num, is_hit = len(slow), hit.hard > 0
    busy = np.where(is_hit, rng.uniform(0.8, 1.0, num), rng.beta(2, 2, num) * 0.9)
    queue_s = np.where(is_hit, hit.delay_s * rng.uniform(1.5, 4.0, num), rng.exponential(4e-7, num))
    burst = ~is_hit & (rng.random(num) < noise.bursts)
    queue_s[burst] = rng.uniform(3e-6, 15e-6, int(burst.sum()))
    busy = np.where(slow > 1, rng.uniform(0.7, 1.0, num) / slow, busy)
    queue_s = np.where(slow > 1, rng.uniform(20e-6, 80e-6, num), queue_s)
    marked = _marks(queue_s, rng) * np.where(burst, 0.02, 1.0)
    paused = np.zeros(num)
    if not is_lossy:
        deep = is_hit & (queue_s > 60e-6)
        paused = np.where(deep, rng.uniform(0.0, 0.15, num), 0.0)
        busy = np.where(deep, busy * (1 - paused), busy)
    dropped = hit.loss * rng.lognormal(0, 0.3, num)
    seen = _late(np.stack([busy, queue_s, marked, dropped, paused]), is_hit, rng, noise)
    seen[2, rng.random(num) < noise.unmarked] = 0.0
    seen[:, rng.random(num) < noise.missing] = np.nan
    return PortLoad(
        utilisation=seen[0], queue_s=seen[1], marked=seen[2], dropped=seen[3], paused=seen[4]
    )


def _marks(queue_s: Array, rng: np.random.Generator) -> Array:
    """Return the share marked: none up to Kmin, then more with the queue, as RED has it."""
    first_s, last_s = rng.uniform(2e-6, 6e-6), rng.uniform(40e-6, 120e-6)
    ramp = np.clip((queue_s / 2 - first_s) / (last_s - first_s), 0, 1)
    return np.asarray(ramp * rng.uniform(0.1, 1.0, len(queue_s)))


def _late(
    told: Array, is_hit: NDArray[np.bool_], rng: np.random.Generator, noise: CongestionNoise
) -> Array:
    """Return what ports tell with some late: half of these were as congested before."""
    num = told.shape[1]
    late = (rng.random(num) < noise.late) & is_hit & (rng.random(num) < 0.5)
    part = rng.random(num)
    before = np.stack([rng.beta(2, 2, num) * 0.9, rng.exponential(4e-7, num), *np.zeros((3, num))])
    mixed = part * told + (1 - part) * before
    mixed[1] = np.where(part > 0.2, told[1], before[1])  # a peak is in, or it is not
    return np.where(late, mixed, told)


def _slow_links(fabric: Fabric, faults: tuple[FaultHypothesis, ...], seen: Observations) -> Array:
    """Return how many times slower a link is, of those that hold flows up: only they queue."""
    slow = np.ones(fabric.num_links)
    for fault in faults:
        if fault.kind is FaultKind.SLOW and fault.scope is Scope.CABLE:
            slow[[2 * fault.index, 2 * fault.index + 1]] = fault.magnitude
    flow, links = seen.flow_of_crossing(), seen.paths.links
    held_up = np.nan_to_num(seen.slowdown)[flow] > 1.2
    count = np.bincount(links[held_up], minlength=fabric.num_links)
    return np.where(count >= 2, slow, 1.0)
