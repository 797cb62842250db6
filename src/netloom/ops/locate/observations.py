"""What was seen of a fabric in one window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.routing.flows import Paths

    Array = NDArray[np.float64]

__all__ = ["Observations", "PortLoad", "unknown_load"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PortLoad:
    """What the port that sends into each link tells of its load; NaN where it does not.

    Attributes:
        utilisation: Share of the line rate.
        queue_s: Deepest queue, in time to send it.
        marked: Share of packets marked.
        dropped: Share of packets thrown away for want of room.
        paused: Share of the time that the receiver paused it.
        dropped_small: Share of small packets thrown away so, at most; None or NaN where it is not
            told apart.
        dropped_large: Likewise of full ones, which find room last.
    """

    utilisation: Array
    queue_s: Array
    marked: Array
    dropped: Array
    paused: Array
    dropped_small: Array | None = None
    dropped_large: Array | None = None


def unknown_load(num_links: int) -> PortLoad:
    """Return the load of links whose ports tell nothing."""
    nothing = np.full(num_links, np.nan)
    return PortLoad(
        utilisation=nothing, queue_s=nothing, marked=nothing, dropped=nothing, paused=nothing
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """Flows and probes with the links they crossed, and what ports and switches counted.

    What is not known is missing: a negative count or NaN. Every flow has a path.

    Attributes:
        paths: The links that each flow crossed, in order.
        packets: Packets that each flow sent.
        lost: Of these, how many had to be sent again or never arrived.
        is_large: Whether its packets are full ones; small probes tell losses of size apart.
        slowdown: Time over what the model expects on a healthy fabric; 1 when as expected.
        delay_s: Round trip over what a healthy path has.
        link_packets: Packets that each link's receiving port counted.
        link_errors: Of these, how many it found damaged or threw away.
        pause_share: Share of the time that each link's sender was paused by its receiver.
        rib_ways: Next hops that each vertex's routing daemon believes in.
        fib_ways: Next hops that its forwarding plane has.
        load: What ports tell of queues, marks and the like; None where none does.
        labels: What each flow belongs to, such as a job and its phase; empty where that is unknown.
    """

    paths: Paths
    packets: NDArray[np.int64]
    lost: NDArray[np.int64]
    is_large: NDArray[np.bool_]
    slowdown: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    link_packets: NDArray[np.int64]
    link_errors: NDArray[np.int64]
    pause_share: NDArray[np.float64]
    rib_ways: NDArray[np.int64]
    fib_ways: NDArray[np.int64]
    load: PortLoad | None = None
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.packets)

    def flow_of_crossing(self) -> NDArray[np.int64]:
        """Return the flow of each entry of ``paths.links``."""
        return np.repeat(np.arange(len(self)), np.diff(self.paths.offsets))
