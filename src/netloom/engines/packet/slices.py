"""Slices in the packet engine: a client is a link of its own, a calendar change its new rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from netloom.engines.packet.faults import PacketFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from netloom.fabric.span.slices import SliceCalendar, SliceChange

__all__ = ["slice_faults"]


def slice_faults(
    first: SliceCalendar, changes: Iterable[SliceChange], links: Mapping[str, int]
) -> tuple[PacketFault, ...]:
    """Return what *changes* after the *first* calendar do to the cables of clients.

    Args:
        first: What holds from the beginning; links have its rates.
        changes: In order of time.
        links: One direction of each client's cable; the other changes as well.
    """
    faults = []
    before = first
    for change in changes:
        for client, link in links.items():
            old_bps, new_bps = before.rate_bps(client), change.calendar.rate_bps(client)
            if old_bps == new_bps:
                continue
            for way in (link, link ^ 1):
                if new_bps > 0:
                    faults.append(
                        PacketFault(when_ps=change.when_ps, kind="rate", link=way, rate_bps=new_bps)
                    )
                if new_bps == 0 or old_bps == 0:
                    kind: Literal["down", "up"] = "down" if new_bps == 0 else "up"
                    faults.append(PacketFault(when_ps=change.when_ps, kind=kind, link=way))
        before = change.calendar
    return tuple(faults)
