"""The load of links from what their ports counted lately: queues, marks, drops, pauses, bytes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.ops.locate.observations import PortLoad

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.tracks import Track

__all__ = ["load_of"]

# A PFC frame holds a priority for up to 65,535 quanta of 512 bits (IEEE 802.1Qbb); most are ended
# sooner, by half on average (assumed).
PAUSE_BITS: Final = 65_535 * 512 / 2


def load_of(network: DesignedNetwork, heard: TelemetryWindow) -> PortLoad | None:
    """Return the load of each link by the port that sends into it; None where none tells."""
    marked, dropped = _risen(heard, "ecn_marked_packets"), _risen(heard, "queue_drops")
    discards, paused = _risen(heard, "send_discards"), _risen(heard, "pause_frames_received")
    queue = _deepest(heard)
    if not (marked or dropped or paused or queue):
        return None
    sent, packets = _risen(heard, "sent_bytes"), _risen(heard, "sent_packets")
    loads = {one.name: np.full(network.fabric.num_links, np.nan) for one in fields(PortLoad)}
    for port, cable in network.at.items():
        link = 2 * cable.number + (port != network.ends[cable.number][0])  # links 2n lead up
        rate_bps = network.rate_bps(cable)
        if port in queue:
            loads["queue_s"][link] = queue[port] * 8 / rate_bps
        if port in sent:
            loads["utilisation"][link] = min(1.0, sent[port].per_s * 8 / rate_bps)
        if port in paused:
            loads["paused"][link] = min(1.0, paused[port].per_s * PAUSE_BITS / rate_bps)
        for name, counts in (("marked", marked), ("dropped", dropped or discards)):
            if port in counts and port in packets:
                share = counts[port].total / max(packets[port].total, 1.0)
                loads[name][link] = min(1.0, share)
    return PortLoad(**loads)


@dataclass(slots=True)
class _Rise:
    """By how much a counter rose, and over how long."""

    total: float = 0.0
    span_s: float = 0.0

    @property
    def per_s(self) -> float:
        """A second."""
        return self.total / self.span_s if self.span_s > 0 else 0.0


def _risen(heard: TelemetryWindow, metric: str) -> Mapping[str, _Rise]:
    """Return how much each port counted, all its queues and priorities together."""
    found: dict[str, _Rise] = defaultdict(_Rise)
    for part, track in heard.of(metric).items():
        looks = heard.looks.get(track.source, ())
        span_s = looks[-1] - max(track.times_s[0], looks[0]) if looks else 0.0
        if span_s <= 0:
            continue
        one = found[_port(part)]
        one.total += sum(rise for *_, rise in track.rises() if rise > 0)
        one.span_s = max(one.span_s, span_s)
    return found


def _deepest(heard: TelemetryWindow) -> Mapping[str, float]:
    """Return the deepest queue of each port; what was seen at a look where no peak is kept."""
    found: dict[str, float] = {}
    for metric in ("queue_depth_bytes", "queue_peak_bytes"):
        for part, track in heard.of(metric).items():
            port = _port(part)
            found[port] = max(found.get(port, 0.0), _largest(track))
    return found


def _largest(track: Track) -> float:
    return max((value for value in track.values if value is not None), default=0.0)


def _port(part: str) -> str:
    """Return the port of a queue or priority: ``leaf:3[7]`` of ``leaf:3[7]/queue:3``."""
    return part.partition("/")[0]
