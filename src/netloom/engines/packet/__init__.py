"""Packet by packet: queues, pauses, credits, marks, congestion control, loss and tails."""

from __future__ import annotations

from netloom.engines.packet.engine import Progress, run_packets
from netloom.engines.packet.faults import PacketFault, flap, reboot
from netloom.engines.packet.lanes import VirtualLanes
from netloom.engines.packet.lower import Recording
from netloom.engines.packet.presets import settings_for
from netloom.engines.packet.receiver_throttle import ReceiverThrottle
from netloom.engines.packet.schedule import CellSchedule
from netloom.engines.packet.settings import (
    Credits,
    Ecn,
    PacketSettings,
    Pfc,
    SwitchSettings,
    Transport,
)
from netloom.engines.packet.vertex import VertexSettings

__all__ = [
    "CellSchedule",
    "Credits",
    "Ecn",
    "PacketFault",
    "PacketSettings",
    "Pfc",
    "Progress",
    "ReceiverThrottle",
    "Recording",
    "SwitchSettings",
    "Transport",
    "VertexSettings",
    "VirtualLanes",
    "flap",
    "reboot",
    "run_packets",
    "settings_for",
]
