"""Lanes: equal sets of transfers between neighbours, of which one stands for all.

Lane l sends from endpoint s + l to t + l what the first sends from s to t, at the same time. Lanes
are equal where each pair takes links of equal looks that are shared in the same way, and no lane
shares a link, a buffer or a turn with another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.packet.known.colours import (
    both_ways,
    hash_refusal,
    link_looks,
    meeting_places,
    pair_looks,
    refusal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.engines.packet.faults import PacketFault
    from netloom.engines.packet.settings import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

__all__ = ["LaneImage", "lane_image"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaneImage:
    """What stands for what, where the first lane stands for all.

    Attributes:
        link: For each link, that of the first lane which stands for it.
        reason: Why it does not; empty where it does.
    """

    link: NDArray[np.int64]
    reason: str = ""


def lane_image(
    wiring: PacketTopology,
    transfers: Transfers,
    settings: PacketSettings,
    faults: Sequence[PacketFault] = (),
    *,
    num_lanes: int,
) -> LaneImage:
    """Return whether *transfers*, those of the first lane, stand for those of all."""
    link = np.arange(wiring.num_links)
    if reason := refusal(wiring, settings, faults):
        return LaneImage(link=link, reason=reason)
    sends = transfers.size_bytes > 0
    pairs = np.unique(
        transfers.source[sends].astype(np.int64) * wiring.num_vertices + transfers.target[sends]
    )
    group, turn = np.zeros(len(pairs), dtype=np.int64), np.arange(len(pairs))
    looks = link_looks(wiring, faults)
    taken = np.zeros(0, dtype=np.int64)
    first, expected = taken, np.zeros(0, dtype=np.uint64)
    for lane in range(num_lanes):  # one at a time: their ways are many
        ways = both_ways(wiring, pairs + lane * (wiring.num_vertices + 1), settings)
        if reason := hash_refusal(ways, settings):
            return LaneImage(link=link, reason=reason)
        places = np.unique(meeting_places(wiring, ways, settings)[0])
        if np.isin(places, taken, assume_unique=True).any():
            return LaneImage(link=link, reason="lanes share links, or the buffers of switches")
        taken = np.concatenate([taken, places])
        own = pair_looks(wiring, ways, looks, group, turn)
        if lane == 0:
            first, expected = ways.link, own
        elif not np.array_equal(own, expected):
            return LaneImage(link=link, reason="lanes differ in their links or faults")
        link[ways.link] = first
    return LaneImage(link=link)
