"""How far to believe what devices say of themselves.

A witness (a port, a daemon, a scan) states something at each look, or says nothing. It may say so
falsely, and one who is wrong is often wrong again at the next look (a cached answer, a stale
counter); it may also not have noticed yet. Each kind of statement has its :class:`Trust`;
witnesses are taken to err apart from one another, the looks of one witness are not. Counters are
statements with a number: those of a healthy port rise too, now and then and by little.

Bayes' rule then gives the chance that the statement is true. All chances here are assumed but
where a source stands; ``bench/locate.py`` shows how well the confidences hold when they are not
the true ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import FaultKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "COUNTED_DOWN",
    "DAMAGE_PRIOR",
    "PAUSED",
    "SYMBOL_PRIOR",
    "TRUST",
    "Report",
    "Trust",
    "belief_in_counts",
    "believed",
    "storm",
]

STUCK: Final = 0.05  # of witnesses who are wrong, the share that stays so
MAX: Final = 0.9999  # no model of errors is better than this
# Links between NICs and leaves fail at 0.057 % a month (Alibaba HPN, SIGCOMM 2024, section 2) and
# stay so for half a day until repaired (assumed): 5.7e-4 * 12 / 730.
FAILED_CABLE: Final = 1e-5

# Bursts of counters on ports that are well: chance of one in a window, of another at each further
# look, and how many they count on average.
BURST: Final = 0.005
BURST_AGAIN: Final = 0.02
BURST_COUNT: Final = 25.0
# Of a port that is ill: chance that its counter rises at a look, and the span of what it counts.
RISES: Final = 0.7
COUNT_SPAN: Final = math.log(1e7)
# Rises of an ill port come in runs, so that a quiet look tells a part of what it would alone.
QUIET: Final = math.log((1 - RISES) / (1 - BURST_AGAIN)) / 4
PAUSED: Final = 0.2  # of the time: what congestion control keeps a healthy link well below
PAUSE_MEAN: Final = 0.05  # share of the time that a healthy link is paused, exponential


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How much a kind of statement is worth.

    Attributes:
        prior: Chance that a part has this trouble in a window.
        false: Chance that a witness says so at a look although it is not so.
        missed: Chance that a witness does not say so although it is so.
        sticks: Chance that a witness who is wrong, either way, is so again at the next look; but
            for the few that stay so.
    """

    prior: float
    false: float
    missed: float
    sticks: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one witness says.

    Attributes:
        is_so: Whether it says that the trouble is there.
        num_looks: At how many looks in a row, up to the last.
        trust: How much that is worth, where it is not what the kind of trouble has.
    """

    is_so: bool
    num_looks: int
    trust: Trust | None = None


TRUST: Final[dict[str, Trust]] = {
    Trouble.MISSING: Trust(prior=FAILED_CABLE, false=1e-4, missed=0.05, sticks=0.5),
    # A switch fails about as often as a cable (0.051 % a month, same source).
    Trouble.SILENT: Trust(prior=FAILED_CABLE, false=1e-3, missed=0.05, sticks=0.5),
    # People err when they cable, and stay so until told: one of a thousand cables.
    Trouble.MISWIRED: Trust(prior=1e-3, false=1e-4, missed=0.05, sticks=0.5),
    Trouble.WRONG_SPEED: Trust(prior=1e-4, false=1e-4, missed=0.05, sticks=0.1),
    # 5,000 to 60,000 flaps a day over a fleet (same source); of some 1e6 links (assumed).
    Trouble.FLAPPING: Trust(prior=1e-4, false=1e-4, missed=0.3, sticks=0.5),
    # A healthy port passes its threshold about never, but while a cable is plugged in.
    Trouble.SYMBOL_ERRORS: Trust(prior=1e-3, false=1e-4, missed=0.3, sticks=0.5),
    # One query to a busy manager is lost now and then.
    Trouble.NO_MANAGER: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.1),
    # BFD and BGP time out under load although the link is well.
    FaultKind.LOSS: Trust(prior=1e-4, false=3e-3, missed=0.1, sticks=0.3),
    # Replaced boards and copied configurations; what is read is there, scans of a subnet that
    # changes under them are not always right.
    Trouble.DUPLICATE_GUID: Trust(prior=1e-3, false=1e-4, missed=0.05, sticks=0.3),
    Trouble.DUPLICATE_LID: Trust(prior=1e-3, false=1e-4, missed=0.05, sticks=0.3),
    Trouble.DUPLICATE_ADDRESS: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.MISSING_ADDRESS: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    # Two ends agree on a session or neither has it; it times out under load like BFD.
    Trouble.SESSION_DOWN: Trust(prior=1e-4, false=1e-3, missed=0.02, sticks=0.3),
    # A busy machine answers late, so that one look does not do.
    Trouble.DAEMON_SILENT: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.1),
    # Interfaces are read; one that is being moved is gone for a moment.
    Trouble.NO_PORT: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.1),
    # What a daemon has is read; a session that BGP just opened has none for a moment.
    Trouble.NO_BFD: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.1),
    # What a daemon is set to is read; it may be read while a session is made.
    Trouble.WRONG_TIMERS: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.1),
    # A route in a kernel's table is read, not guessed: what is there once is meant.
    Trouble.REFUSED: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.FOREIGN: Trust(prior=1e-3, false=1e-4, missed=0.01, sticks=0.5),
    # After a change elsewhere BGP takes a moment, so that one look does not do.
    Trouble.MISSING_ROUTES: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.3),
    # The policy is read, but that it is why ways are missing is concluded.
    Trouble.ROUTE_POLICY: Trust(prior=1e-3, false=1e-3, missed=0.02, sticks=0.3),
    # Routes and next hops are read one after the other: a change may lie between.
    FaultKind.LOST_PATHS: Trust(prior=1e-3, false=1e-4, missed=0.05, sticks=0.1),
    # What a port is set to is read, not measured.
    Trouble.WRONG_MTU: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.WRONG_FEC: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.WRONG_PFC: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.WRONG_DSCP: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.ECN_CLEARED: Trust(prior=1e-3, false=1e-4, missed=0.01, sticks=0.5),
    Trouble.DSCP_CHANGED: Trust(prior=1e-3, false=1e-4, missed=0.01, sticks=0.5),
    Trouble.NO_ECN: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    Trouble.SHUT: Trust(prior=1e-3, false=1e-5, missed=0.01, sticks=0.5),
    # Managers take seconds to use a cable that was plugged in; answers of busy ports come late,
    # of both ends of a cable at once.
    Trouble.UNUSED: Trust(prior=1e-3, false=0.05, missed=0.05, sticks=0.3),
    FaultKind.BLACK_HOLE: Trust(prior=1e-4, false=0.02, missed=0.05, sticks=0.3),
    Trouble.DIVERGENT: Trust(prior=1e-3, false=1e-3, missed=0.05, sticks=0.1),
}
# A port counts that it went down where it did, whatever its neighbour says.
COUNTED_DOWN: Final = Trust(prior=1e-4, false=1e-5, missed=0.3, sticks=0.5)
SYMBOL_PRIOR: Final = 1e-3  # cables with errors above what the specification allows
DAMAGE_PRIOR: Final = 1e-3
STORM_PRIOR: Final = 1e-5


def believed(trust: Trust, witnesses: Iterable[Report]) -> float:
    """Return the chance that a statement is so, by all who said anything about it."""
    odds = math.log(trust.prior / (1 - trust.prior))
    odds += sum(_say(one.trust or trust, one) for one in witnesses if one.num_looks > 0)
    return _chance(odds)


def _say(trust: Trust, one: Report) -> float:
    """Return the log likelihood ratio of what one witness says."""
    again = -math.log((1 - STUCK) * trust.sticks ** min(one.num_looks - 1, 1000) + STUCK)
    if one.is_so:
        return math.log((1 - trust.missed) / trust.false) + again
    return math.log(trust.missed / (1 - trust.false)) - again


def belief_in_counts(
    prior: float, rises: Sequence[float], *, num_looks: int, more: float = 0.0
) -> float:
    """Return the chance that a counter rose because something is broken.

    Args:
        prior: Chance of that in a window.
        rises: By how much it rose, at each look at which it did.
        num_looks: How often it was looked at.
        more: The log likelihood ratio of what others say, such as flows that cross the part.
    """
    odds = math.log(prior / (1 - prior)) + more
    for place, count in enumerate(sorted(rises, reverse=True)):
        size = max(count, 1.0)
        ill = math.log(RISES / (COUNT_SPAN * size))
        well = math.log((BURST_AGAIN if place else BURST) / BURST_COUNT) - size / BURST_COUNT
        odds += ill - well
    quiet = max(0, num_looks - len(rises))
    # One quiet look is no sign of health: the fault may have begun, or the jump been seen, since.
    odds += max(0, quiet - 1) * QUIET if len(rises) > 1 else 0.0
    return _chance(odds)


def storm(share: float) -> float:
    """Return the chance that a link paused for a *share* of the time is so by a storm.

    A storm pauses any share from a fifth on alike; healthy links are paused for short.
    """
    if share <= PAUSED:
        return 0.0
    healthy = -share / PAUSE_MEAN - math.log(PAUSE_MEAN)
    return _chance(math.log(STORM_PRIOR / (1 - PAUSED)) - healthy)


def _chance(odds: float) -> float:
    if odds < -700:
        return 0.0
    return min(MAX, 1 / (1 + math.exp(-odds)))
