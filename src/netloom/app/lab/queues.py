"""How full the queues of a RoCE lab are while something is measured: what explains losses."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.app.lab.roce import cable_ends, lab_rate_bps
from netloom.drivers.kernel import queue_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netloom.app.lab.store import LabFolder
    from netloom.drivers.netns import End
    from netloom.formats.linux.rtnetlink import QueueCounts
    from netloom.ops.plant import Cable, Plant, Port

__all__ = ["PortUse", "QueueCensus", "QueueLook"]

# What a full queue throws away of small packets, against its share of all packets: 0.34 at most in
# 66 looks at 16 hosts, 1 to 6 of which sent datagrams of 600 to 8,000 bytes to one, up to 5 times
# what it carries. Where it is full for short times only, the probes are what fills it: then of
# those that cross it, but no more than where it is always full.
SMALL_DROPPED: Final = 0.5
ALWAYS_FULL: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class PortUse:
    """What a port sent, and threw away for want of room, while probes were on their way.

    Attributes:
        cable: It hangs on.
        sender: The port.
        utilisation: Share of the line rate that it sent while probes were sent.
        queue_s: The longest that what it had to send would have waited, as far as was seen.
        dropped_share: Of all packets that came to it.
        dropped_small_share: Of small probes, at most: a queue that is full by bytes has room for a
            small packet before it has for a large one.
        dropped_large_share: Of full probes that crossed it, at most: all that was thrown away may
            have been these.
    """

    cable: Cable
    sender: Port
    utilisation: float
    queue_s: float
    dropped_share: float
    dropped_small_share: float
    dropped_large_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLook:
    """All queues of a lab at one time, by the end of a cable.

    Attributes:
        at_s: On a clock that only goes forward.
        counts: What each counted.
    """

    at_s: float
    counts: Mapping[End, QueueCounts]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCensus:
    """The ports of a lab whose queues are asked."""

    plant: Plant
    ports: Mapping[End, tuple[Cable, Port]]

    @classmethod
    def of(cls, place: LabFolder, plant: Plant) -> QueueCensus:
        """Return that of all ports of a lab."""
        ports = {
            end: (cable, port)
            for cable in plant.cables
            for end, port in zip(cable_ends(place, plant, cable), cable.ends, strict=True)
        }
        return cls(plant=plant, ports=ports)

    def read(self) -> QueueLook:
        """Ask every device once.

        Raises:
            LabError: a namespace is gone.
        """
        counts: dict[End, QueueCounts] = {}
        by_space: dict[str, list[End]] = {}
        for end in self.ports:
            by_space.setdefault(end.namespace, []).append(end)
        for space, ends in by_space.items():
            told = queue_counts(space)
            counts |= {end: told[end.interface] for end in ends if end.interface in told}
        return QueueLook(at_s=time.monotonic(), counts=counts)

    def uses(
        self,
        looks: tuple[QueueLook, QueueLook, QueueLook],
        num_probes: Mapping[tuple[Cable, Port], int],
    ) -> Iterator[PortUse]:
        """Give what each port did, where all looks saw the same queue.

        Args:
            looks: Before anything was sent, when the last was sent and much may wait, and when
                nothing more was waited for.
            num_probes: That were to leave by each port, half of them full ones.
        """
        span_s = max(looks[1].at_s - looks[0].at_s, 1e-6)
        for end, (cable, port) in self.ports.items():
            first, busy, last = (look.counts.get(end) for look in looks)
            if first is None or busy is None or last is None:
                continue
            packets = last.sent_packets - first.sent_packets
            dropped = last.dropped_packets - first.dropped_packets
            if packets < 0 or dropped < 0:  # another queue took its place
                continue
            rate_bps = lab_rate_bps(self.plant, cable)
            share = dropped / max(packets + dropped, 1)
            of_probes = dropped / max(num_probes.get((cable, port), 0), 1)
            offered = busy.sent_bytes - first.sent_bytes
            waiting = max(one.waiting_bytes for one in (first, busy, last))
            yield PortUse(
                cable=cable,
                sender=port,
                utilisation=min(1.0, max(0.0, 8 * offered / (span_s * rate_bps))),
                queue_s=8 * waiting / rate_bps,
                dropped_share=share,
                dropped_small_share=SMALL_DROPPED * max(share, min(of_probes, ALWAYS_FULL)),
                dropped_large_share=min(1.0, 2 * of_probes),
            )
