"""Changes during a look: cables that went down or came back, and faults that end.

Sessions come back some looks after their cable, and routes after those. What flows lost meanwhile
at the switches beside it proves nothing: the ways that were asked for are no longer theirs. A fault
that ends while probes are on their way hurts some of them in part, which looks like another fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import FaultKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from netloom.fabric.part_id import PartId
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.observe.cases import Case
    from netloom.ops.observe.tracks import Track
    from netloom.spec.observed import Observed, ObservedFlow

__all__ = [
    "LOOKS_TO_SETTLE",
    "settled_flows",
    "settling_cables",
    "settling_sessions",
    "unconfirmed",
    "without_endings",
]

LOOKS_TO_SETTLE: Final = 5
# Packets of one flow; assumed. Shutting a BGP session cost one each of 50 probes in a lab.
FEW_LOST: Final = 5
# What flows show, each of which a part of another fault may look like.
SHOWN_BY_FLOWS: Final = frozenset(kind.value for kind in FaultKind)


def settling_cables(network: DesignedNetwork, heard: TelemetryWindow) -> frozenset[int]:
    """Return the cables whose ends went down or came back at one of the last looks."""
    return _changing(network, heard, ("link_up", "link_downs"))


def settling_sessions(network: DesignedNetwork, heard: TelemetryWindow) -> frozenset[int]:
    """Return the cables whose BGP session closed or opened at one of the last looks."""
    return _changing(network, heard, ("bgp_up",))


def _changing(
    network: DesignedNetwork, heard: TelemetryWindow, metrics: Sequence[str]
) -> frozenset[int]:
    return frozenset(
        network.at[part].number
        for metric in metrics
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


def without_endings(
    open_before: Sequence[Case],
    found: Sequence[Case],
    cables_of: Callable[[PartId], frozenset[PartId]],
) -> list[Case]:
    """Return *found* less new cases beside one that was open before and seems to be ending.

    What flows lose in part while a fault ends looks like another one, for one look. A device that
    comes back brings up one cable after the other: while its case is open, those are part of it.

    Args:
        open_before: The cases that were open before this look.
        found: Those that it found.
        cables_of: Gives the cables of a part.
    """
    now, known = {case.key for case in found}, {case.key for case in open_before}
    ending: set[PartId] = set()
    returning: set[PartId] = set()
    for case in open_before:
        if case.key in now:
            continue
        if case.kind == Trouble.SILENT:
            returning |= cables_of(case.part)
        elif case.kind in SHOWN_BY_FLOWS and not case.num_missed:
            ending |= cables_of(case.part)

    def is_part(case: Case) -> bool:
        own = cables_of(case.part)
        if not returning.isdisjoint(own):
            return True
        return case.kind in SHOWN_BY_FLOWS and not ending.isdisjoint(own)

    return [case for case in found if case.key in known or not is_part(case)]


def unconfirmed(
    open_before: Sequence[Case],
    found: Sequence[Case],
    doubted: Collection[tuple[PartId, str]],
    most_lost: Callable[[Case], int],
) -> frozenset[tuple[PartId, str]]:
    """Return the keys of new cases that one look is not enough for: losses of a few packets.

    Routes that change for whatever reason cost each flow some, once.

    Args:
        open_before: The cases that were open before this look.
        found: Those that it found.
        doubted: Keys of those that the look before found and that were not opened.
        most_lost: Gives the most packets that a flow across the part of a case lost; 0 of none.
    """
    known = {*(case.key for case in open_before), *doubted}
    return frozenset(
        case.key
        for case in found
        if case.key not in known and case.kind == FaultKind.LOSS and 0 < most_lost(case) <= FEW_LOST
    )


def _changed_lately(track: Track, heard: TelemetryWindow) -> bool:
    known = {value for value in track.values if value is not None}
    return len(known) > 1 and track.num_looks(heard.looks) <= LOOKS_TO_SETTLE


def _crosses(flow: ObservedFlow, devices: set[str]) -> bool:
    ends = {end for link in flow.path or () for end in link.partition("#")[0].split("->")}
    return flow.ends_at in devices or not devices.isdisjoint(ends)
