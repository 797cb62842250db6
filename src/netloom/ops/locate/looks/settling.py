"""Cables that went down or came back a moment ago, while routing still follows.

Sessions come back some looks after their cable, and routes after those. What flows lost meanwhile
at the switches beside it proves nothing: the ways that were asked for are no longer theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.tracks import Track
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = ["LOOKS_TO_SETTLE", "settled_flows", "settling_cables"]

LOOKS_TO_SETTLE: Final = 5


def settling_cables(network: DesignedNetwork, heard: TelemetryWindow) -> frozenset[int]:
    """Return the cables whose ends went down or came back at one of the last looks."""
    return frozenset(
        network.at[part].number
        for metric in ("link_up", "link_downs")
        for part, track in heard.of(metric).items()
        if part in network.at and _changed_lately(track, heard)
    )


def settled_flows(
    network: DesignedNetwork, observed: Observed, settling: Collection[int]
) -> Observed:
    """Return *observed* less the flows that lost packets across the switches beside *settling*."""
    if not settling:
        return observed
    beside = {name for number in settling for name in network.devices_of(network.cables[number])}
    kept = tuple(flow for flow in observed.flows if not (flow.lost and _crosses(flow, beside)))
    return observed.model_copy(update={"flows": kept})


def _changed_lately(track: Track, heard: TelemetryWindow) -> bool:
    known = {value for value in track.values if value is not None}
    return len(known) > 1 and track.num_looks(heard.looks) <= LOOKS_TO_SETTLE


def _crosses(flow: ObservedFlow, devices: set[str]) -> bool:
    ends = {end for link in flow.path or () for end in link.partition("#")[0].split("->")}
    return flow.ends_at in devices or not devices.isdisjoint(ends)
