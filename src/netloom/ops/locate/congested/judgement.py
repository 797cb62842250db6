"""Which links are congested, by what their own ports tell, and what that explains.

A queue at a port delays what passes it, slows flows down to their share and may overflow. Ports
tell of it: how deep their queue was, how many packets they marked (ECN), how long they were
paused (PFC), how many they threw away, how busy the line was. What these explain is congestion
and no fault. A deep queue at a line that is neither busy nor paused is the mark of a slow line and
explains nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate.testimony import DAMAGE_PRIOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.ops.locate.observations import Observations, PortLoad

    Array = NDArray[np.float64]

__all__ = ["Allowance", "LoadJudgement", "judged_load"]

# Signs of a queue. DCQCN marks from 2 to 8 us of a 400 Gbit/s line on (Kmin of 100 to 400 KB, as
# vendors' guides have it; recalled); the other bounds are assumed.
QUEUE_S: Final = 3e-6
MARKED: Final = 1e-4
PAUSED: Final = 5e-3
DROPPED: Final = 1e-8
BUSY: Final = 0.7  # of the line rate: below it a queue does not stay
# What congestion does at most where a port does not tell how much: assumed, from buffers of 16 to
# 32 MB shared by 64 ports of 400 Gbit/s (up to 10 us each, ten times that for a few).
MOST_DELAY_S: Final = 150e-6
MOST_SLOWDOWN: Final = 2.5
MOST_LOSS: Final = 5e-4
DEEPER: Final = 1.5  # than its port told: looks come seldom, and peaks are short
MORE_DROPPED: Final = 3.0  # than it counted, by the same reason
LEAST_LOSS: Final = 1e-6  # that a queue may lose although its port counted none
LATE: Final = 0.05  # of congested ports that do not show it yet: counters come late (assumed)
# A queue this long at a line that is not busy; slow lines that show one, and others that do by
# chance, their counters being late (assumed).
STUCK_QUEUE_S: Final = 10e-6
STUCK_MARKED: Final = 1e-2
SLOW_STUCK: Final = 0.5
CHANCE_STUCK: Final = 0.02
CABLE_FAULT: Final = DAMAGE_PRIOR  # chance of a fault in both directions of a cable
ONE_WAY_FAULT: Final = DAMAGE_PRIOR / 10  # in one alone (assumed)
_NEVER: Final = 1e-12
_NOWHERE: Final = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Allowance:
    """What congestion may do to each flow: anything up to these.

    Attributes:
        loss: Share of packets.
        slowdown: Times longer.
        delay_s: Longer round trip.
    """

    loss: Array
    slowdown: Array
    delay_s: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadJudgement:
    """What the load of each link explains.

    Attributes:
        is_congested: Whether its port shows it.
        is_told: Whether its port tells anything of queues, marks or pauses.
        is_stuck: Whether it has a long queue though the line is neither busy nor paused, as a slow
            one has.
        share: Of the links that tell, how many are congested.
        loss: Share of small packets that congestion may lose on it.
        loss_large: Likewise of full ones, which find room last.
        slowdown: Times that it may slow flows down.
        delay_s: For how long it may hold them up.
    """

    is_congested: NDArray[np.bool_]
    is_told: NDArray[np.bool_]
    is_stuck: NDArray[np.bool_]
    share: float
    loss: Array
    loss_large: Array
    slowdown: Array
    delay_s: Array

    def allowance(self, seen: Observations) -> Allowance:
        """Return what it explains of each flow: delays and losses add up, the slowest slows."""
        count = len(seen)
        loses = (self.loss > 0) | (self.loss_large > 0)
        loaded = loses | (self.slowdown > 1) | (self.delay_s > 0)
        at = np.flatnonzero(loaded[seen.paths.links]) if loaded.any() else _NOWHERE
        flow, links = seen.flow_of_crossing()[at], seen.paths.links[at]
        slowdown = np.ones(count)
        np.maximum.at(slowdown, flow, self.slowdown[links])
        loss = np.where(seen.is_large[flow], self.loss_large[links], self.loss[links])
        return Allowance(
            loss=np.bincount(flow, weights=loss, minlength=count).astype(float),
            slowdown=slowdown,
            delay_s=np.bincount(flow, weights=self.delay_s[links], minlength=count).astype(float),
        )

    def odds_of_link(self, link: int) -> float:
        """Return the logarithm of the odds that one direction in trouble is broken, not congested.

        Ports that tell nothing may be as congested as others are; those that tell of none may be
        late. Where no port of the fabric shows any, none is taken to be.
        """
        return math.log(ONE_WAY_FAULT) - self._hidden(link)

    def odds_of_cable(self, cable: int) -> float:
        """Return the same of trouble in both directions, which must then both be congested."""
        return math.log(CABLE_FAULT) - self._hidden(2 * cable) - self._hidden(2 * cable + 1)

    def odds_of_slow(self, link: int) -> float:
        """Return the same of a slow direction: a slow line has a queue without being busy.

        A slow cable is so both ways, although flows may notice it in one alone.
        """
        odds = self.odds_of_link(link)
        for way in (link, link ^ 1) if self.is_stuck[link] else ():
            odds += math.log(SLOW_STUCK / CHANCE_STUCK) if self.is_stuck[way] else 0.0
        return odds

    def _hidden(self, link: int) -> float:
        """Return the logarithm of the chance that a link is congested, by what its port tells."""
        if self.is_congested[link]:
            return 0.0
        return math.log(max(self.share * (LATE if self.is_told[link] else 1.0), _NEVER))


def judged_load(load: PortLoad, wires: NDArray[np.bool_]) -> LoadJudgement:
    """Return which links are congested and what that explains.

    Args:
        load: What ports tell.
        wires: Links of the network; those inside a node have no port that would tell.
    """
    marked, paused = load.marked >= MARKED, load.paused >= PAUSED
    queued, dropped = load.queue_s >= QUEUE_S, load.dropped >= DROPPED
    told = ~np.isnan(load.queue_s) | ~np.isnan(load.marked) | ~np.isnan(load.paused)
    told &= wires
    is_idle = (load.utilisation < BUSY) & ~paused
    # What a queue threw away is lost there, however little the line sent over a longer time.
    congested = ((marked | paused | queued) & ~is_idle) | dropped
    share = float(np.count_nonzero(congested & wires)) / (np.count_nonzero(told) + 1.0)
    may_be = congested | (wires & ~told & bool(congested.any()))
    hard = may_be & (marked | paused | ~told)
    delay_s = np.where(np.isnan(load.queue_s), MOST_DELAY_S, DEEPER * load.queue_s)
    lost = np.maximum(LEAST_LOSS, MORE_DROPPED * load.dropped)
    loss = np.where(np.isnan(load.dropped), MOST_LOSS, lost)
    small, large = (_at_most(one, loss) for one in (load.dropped_small, load.dropped_large))
    return LoadJudgement(
        is_congested=congested,
        is_told=told,
        is_stuck=(load.marked >= STUCK_MARKED) & (load.queue_s >= STUCK_QUEUE_S) & is_idle,
        share=share,
        loss=np.where(may_be, small, 0.0),
        loss_large=np.where(may_be, large, 0.0),
        slowdown=np.where(hard, MOST_SLOWDOWN, 1.0),
        delay_s=np.where(may_be, delay_s, 0.0),
    )


def _at_most(told: Array | None, loss: Array) -> Array:
    """Return what a queue may lose of packets of one size: as its port tells, or of any size."""
    if told is None:
        return loss
    return np.where(np.isnan(told), loss, np.maximum(told, LEAST_LOSS))
