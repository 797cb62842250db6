"""Faults: what may be wrong with which part, and which flows would notice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["MAGNITUDES", "RARITY", "FaultHypothesis", "FaultKind", "Scope", "Trouble"]


class FaultKind(StrEnum):
    """What is wrong."""

    LOSS = "loss"  # a share of all packets
    LARGE_LOSS = "large-packet loss"  # a share of full packets; small ones pass
    BLACK_HOLE = "black hole"  # some flows lose everything, others nothing
    SLOW = "slow"
    DELAY = "delay"
    LOST_PATHS = "forwarding lost paths"  # that routing still has
    PAUSE_STORM = "pause storm"  # pauses without end, from one NIC


class Trouble(StrEnum):
    """What devices say of themselves, besides what is inferred (:class:`FaultKind`)."""

    MISSING = "missing cable"  # designed, and not there or down
    NO_PORT = "missing port"  # its device has no such interface: renamed, or taken out
    SILENT = "silent device"  # none of its cables is there
    MISWIRED = "miswired"  # in another port than designed
    WRONG_SPEED = "wrong speed"
    SYMBOL_ERRORS = "symbol errors"
    FLAPPING = "flapping"  # down and up again within a window
    NO_MANAGER = "dead subnet manager"
    DAEMON_SILENT = "silent routing daemon"  # does not answer, on a switch that does
    SESSION_DOWN = "session down"  # BGP, over a cable that is up
    WRONG_TIMERS = "wrong timers"  # of BGP or BFD: how soon a failure is noticed
    NO_BFD = "no BFD"  # for a neighbour, over a session that is up
    REFUSED = "blackhole route"  # or unreachable, prohibited: where a host's route should be
    FOREIGN = "foreign route"  # more specific than what routing should have
    MISSING_ROUTES = "missing routes"  # fewer ways than the design has
    ROUTE_POLICY = "route policy"  # a filter or preference that takes ways away
    DUPLICATE_GUID = "duplicate GUID"
    DUPLICATE_LID = "duplicate LID"
    DUPLICATE_ADDRESS = "duplicate address"
    MISSING_ADDRESS = "missing address"  # that the design gives it
    WRONG_MTU = "wrong MTU"
    WRONG_FEC = "wrong FEC"
    WRONG_PFC = "wrong PFC"  # priorities that pause
    WRONG_DSCP = "wrong DSCP map"  # of RDMA's code point
    NO_ECN = "no ECN"  # on the queue of RDMA
    ECN_CLEARED = "ECN cleared"  # from packets on their way: senders hear of no congestion
    DSCP_CHANGED = "DSCP changed"  # likewise: they leave RDMA's queue
    SHUT = "port shut"  # by configuration, on a cable that the design uses
    DIVERGENT = "divergent routes"  # between daemon and kernel, as many but others
    DEGRADING = "degrading"  # up, and expected to drop
    UNUSED = "unused cable"  # there, but no manager has taken it into use


class Scope(StrEnum):
    """How much of the fabric one fault takes in."""

    LINK = "link"  # one direction of a cable
    CABLE = "cable"  # both
    SWITCH = "switch"  # everything that passes it
    NIC = "NIC"  # the cable of a NIC port, seen from its end


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHypothesis:
    """One thing that may be wrong.

    Attributes:
        index: Link, cable or vertex number, by scope.
        magnitude: Share lost or swallowed; times slower; or seconds of delay.
    """

    scope: Scope
    index: int
    kind: FaultKind
    magnitude: float


# Magnitudes that are tried; the truth lies near one of them.
MAGNITUDES: Final = {
    FaultKind.LOSS: (3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 0.999),
    FaultKind.LARGE_LOSS: (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.999),
    FaultKind.BLACK_HOLE: (0.03, 0.1, 0.3, 0.6),
    FaultKind.SLOW: (1.25, 1.5, 2.0, 3.0, 5.0, 10.0),
    FaultKind.DELAY: (20e-6, 35e-6, 50e-6, 75e-6, 100e-6, 200e-6),
}
# Logarithm of how rare each kind is beside a plain loss or a slow part.
RARITY: Final = {
    FaultKind.LOSS: 0.0,
    FaultKind.SLOW: 0.0,
    FaultKind.DELAY: -1.0,
    FaultKind.LARGE_LOSS: -2.0,
    FaultKind.BLACK_HOLE: -2.0,
}
