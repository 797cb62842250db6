"""A scenario's wishes about switches and links, as settings of the packet engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.packet.lanes import VirtualLanes
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.engines.packet.settings import PacketSettings
    from netloom.spec.packets import Entry, Lanes, Packets

__all__ = ["packet_settings_of"]

_PS: Final = 1e12


def packet_settings_of(asked: Packets, settings: PacketSettings) -> PacketSettings:
    """Return *settings* with what *asked* changes.

    Raises:
        SpecError: the flow control has no virtual lanes, or no pauses to watch over, or tables are
            wrong.
    """
    pfc = settings.pfc
    if settings.flow_control != "pfc" and (asked.watchdog_s or asked.restore_s):
        message = (
            f"watchdog: {settings.flow_control} has no pauses to watch over; use flow control pfc, "
            "or leave it out"
        )
        raise SpecError(message)
    if asked.watchdog_s is not None:
        pfc = replace(pfc, watchdog_ps=round(asked.watchdog_s * _PS))
    if asked.restore_s is not None:
        pfc = replace(pfc, restore_ps=round(asked.restore_s * _PS))
    if asked.lanes is None:
        return replace(settings, pfc=pfc)
    return replace(settings, pfc=pfc, lanes=_lanes(asked.lanes))


def _lanes(asked: Lanes) -> VirtualLanes:
    lane_of = dict(enumerate(asked.lane_of or ()))
    high = _table(asked.high)
    if asked.low is None:
        return VirtualLanes(lane_of=lane_of, high=high, high_limit=asked.high_limit)
    low = _table(asked.low)
    return VirtualLanes(lane_of=lane_of, high=high, low=low, high_limit=asked.high_limit)


def _table(entries: tuple[Entry, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((entry.lane, entry.weight) for entry in entries)
