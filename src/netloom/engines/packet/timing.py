"""Deterministic networking in packets: gates, shapers, cycles, cut packets, two routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.span.curves import TokenBucket
    from netloom.fabric.span.gates import GateList

__all__ = ["CycleQueues", "LaneShaper", "PacketTiming"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneShaper:
    """What holds packets of a priority back at a port.

    Attributes:
        kind: ``token-bucket`` of all together, ``cbs`` (802.1Qav; *rate_bps* is idleSlope), or
            ``ats`` (802.1Qcr; each stream by its own committed rate and burst).
        rate_bps: On the wire, preamble and gap included.
        burst_bytes: Of a token bucket.
    """

    kind: Literal["token-bucket", "cbs", "ats"]
    rate_bps: float = 0.0
    burst_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleQueues:
    """Queues that take turns of a cycle each: CQF with two, ECQF with three or more.

    Attributes:
        priorities: Of the queues, one below another; transfers have the first.
        cycle_ps: How long a turn is.
        shift: Of links: cycles from a packet's being sent over one until it is sent on (ECQF). A
            packet that comes over another link is sent in the cycle after its arrival's (CQF).
    """

    priorities: tuple[int, ...]
    cycle_ps: int
    shift: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketTiming:
    """What the ports of switches do by the clock, by stream and twice.

    Attributes:
        gates: Of links; others are open.
        shapers: Of links and priorities.
        express: Of links: priorities that cut others on the wire (802.1Qbu).
        cycle: Queues that take turns; their gates are given apart.
        stream: Of each transfer, a number of *streams*; empty where each is its own.
        streams: Their committed rates and bursts, for ``ats`` and meters.
        metered: Links whose receiver drops what exceeds its stream's bucket (802.1Qci).
        replicates: Vertices that send a packet by every next link (802.1CB).
        eliminates: Vertices that drop what came before.
        history_packets: Of a stream that these remember.
    """

    gates: Mapping[int, GateList] = field(default_factory=dict)
    shapers: Mapping[tuple[int, int], LaneShaper] = field(default_factory=dict)
    express: Mapping[int, frozenset[int]] = field(default_factory=dict)
    cycle: CycleQueues | None = None
    stream: tuple[int, ...] = ()
    streams: tuple[TokenBucket, ...] = ()
    metered: frozenset[int] = frozenset()
    replicates: frozenset[int] = frozenset()
    eliminates: frozenset[int] = frozenset()
    history_packets: int = 64

    @property
    def priorities(self) -> frozenset[int]:
        """That have a queue whether or not a transfer asks for it."""
        return frozenset(self.cycle.priorities if self.cycle else ())
