"""Looks that add up: small losses, too small for one look, found over minutes.

The counts of each flow are summed over the looks, old ones forgotten with a time constant, and
located like those of one look. Each flow's say is then a sequential likelihood ratio with weights
of at most one. While all is well the mean of its exponential is at most one whatever the weights,
so that at any look a given fault passes the threshold of ``search.COST`` nats with a chance of at
most exp(-COST), 3e-7 (Markov's inequality).

What one look explains by itself is not added up, nor are bursts: a host that stalls loses many
packets of a flow at once, routes that change one of many flows, a bad cable now one, now another.
Once the last losses lie so far back
that a cable as bad would have lost more since, its past is forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.spec.observed import Observed, ObservedFlow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["AddedFlows", "probes_per_link", "smallest_loss"]

HORIZON_S: Final = 600.0  # time constant with which looks are forgotten
BURST: Final = 2  # packets of one flow lost in one look: more is no small loss
LEAST_LOOKS: Final = 3  # with losses: the repair of a fault costs some packets as the fault did
OVER: Final = 7.0  # losses that should have come since the last one: none of them, once in 1,000
# Expected losses at which a fault is found nine times in ten: COST of 15 nats and rarity take three
# flows with a loss, each of which says at most log(1000) = 6.9; a Poisson number with mean 5.3 is
# three or more with a chance of 0.9.
LOSSES_NEEDED: Final = 5.3
MAX_FLOWS: Final = 2_000_000

FlowKey = tuple[str, str, int, bool, tuple[str, ...]]


@dataclass(slots=True)
class _Sum:
    """What one flow lost and sent, old looks weighing less."""

    flow: ObservedFlow
    packets: float = 0.0
    lost: float = 0.0
    last_packets: int = 0  # in the look in which it was last sent
    sent_look: int = 0  # the number of that look
    lost_look: int = 0  # of the last in which it lost any


@dataclass(slots=True, kw_only=True)
class AddedFlows:
    """Flows of many looks.

    Attributes:
        horizon_s: Time constant with which looks are forgotten.
    """

    horizon_s: float = HORIZON_S
    _sums: dict[FlowKey, _Sum] = field(default_factory=dict)
    _time_s: float | None = None
    _look: int = 0

    def add(self, observed: Observed, time_s: float, explained: Collection[str] = ()) -> None:
        """Add one look.

        Args:
            observed: Its flows; those whose way is not given or ends are left out, and those
                that cross a port that threw packets away for want of room.
            time_s: When.
            explained: Links, as paths name them, whose trouble that look explains by itself.
        """
        self._forget(time_s)
        self._look += 1
        full = (one.link for one in observed.links if one.dropped_share)
        known = frozenset((*explained, *full))
        for flow in observed.flows:
            if flow.path is None or flow.ends_at is not None or known.intersection(flow.path):
                continue
            if flow.lost > BURST:
                continue
            one = self._sum(flow)
            if one is not None:
                one.packets += flow.packets
                one.lost += min(flow.lost, 1)
                one.last_packets, one.sent_look = flow.packets, self._look
                one.lost_look = self._look if flow.lost else one.lost_look

    def observed(self) -> Observed:
        """Return all looks as one."""
        return Observed(
            flows=tuple(
                one.flow.model_copy(update={"packets": round(one.packets), "lost": round(one.lost)})
                for one in self._sums.values()
                if one.packets >= 1
            )
        )

    def settle(self, links: Collection[str], rate: float) -> bool:
        """Forget the past of *links* if it is over, and return whether it was.

        Args:
            links: Both ways of a cable, as paths name them.
            rate: What they are held to lose.
        """
        known = frozenset(links)
        crossing = [one for one in self._sums.values() if known.intersection(one.flow.path or ())]
        num_looks = self._look - max((one.lost_look for one in crossing), default=self._look)
        packets = sum(one.last_packets for one in crossing if one.sent_look == self._look)
        if rate * num_looks * packets < OVER:
            return False
        for one in crossing:
            one.lost = 0.0
        return True

    def is_burst(self, links: Collection[str]) -> bool:
        """Return whether all that was lost across *links* was lost in a look or two."""
        known = frozenset(links)
        looks = {
            one.lost_look
            for one in self._sums.values()
            if one.lost and known.intersection(one.flow.path or ())
        }
        return len(looks) < LEAST_LOOKS

    def _sum(self, flow: ObservedFlow) -> _Sum | None:
        key = (flow.source, flow.target, flow.source_port, flow.large, flow.path or ())
        if key not in self._sums:
            if len(self._sums) >= MAX_FLOWS:
                return None
            still = flow.model_copy(update={"slowdown": None, "delay_s": None})
            self._sums[key] = _Sum(still)
        return self._sums[key]

    def _forget(self, time_s: float) -> None:
        since_s = 0.0 if self._time_s is None else max(0.0, time_s - self._time_s)
        self._time_s = time_s
        weight = math.exp(-since_s / self.horizon_s)
        for key, one in list(self._sums.items()):
            one.packets *= weight
            one.lost *= weight
            if one.packets < 1:
                del self._sums[key]


def probes_per_link(flows: Iterable[ObservedFlow], links: Collection[str]) -> float:
    """Return how many packets cross the least crossed of *links* in a look; 0 if one has none."""
    counts = dict.fromkeys(links, 0)
    for flow in flows:
        for link in flow.path or ():
            if link in counts:
                counts[link] += flow.packets
    return float(min(counts.values(), default=0))


def smallest_loss(packets_per_s: float, within_s: float) -> float | None:
    """Return the smallest share of packets whose loss is found nine times in ten *within_s*.

    Args:
        packets_per_s: Across one link.
        within_s: How long it is looked at.

    >>> f"{smallest_loss(500.0, 60.0):.1e}"
    '1.8e-04'
    """
    if packets_per_s <= 0 or within_s <= 0:
        return None
    share = LOSSES_NEEDED / (packets_per_s * within_s)
    return share if share < 1 else None
