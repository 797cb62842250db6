"""Packet by packet: queues, pauses, credits, marks, congestion control, loss and tails."""

from __future__ import annotations

from netloom.engines.packet.engine import Progress, run_packets
from netloom.engines.packet.faults import Fault, flap, reboot
from netloom.engines.packet.lanes import VirtualLanes
from netloom.engines.packet.lower import Watch
from netloom.engines.packet.presets import settings_for
from netloom.engines.packet.restraint import Restraint
from netloom.engines.packet.schedule import Schedule
from netloom.engines.packet.settings import (
    Credits,
    Ecn,
    PacketSettings,
    Pfc,
    Switch,
    Transport,
)

__all__ = [
    "Credits",
    "Ecn",
    "Fault",
    "PacketSettings",
    "Pfc",
    "Progress",
    "Restraint",
    "Schedule",
    "Switch",
    "Transport",
    "VirtualLanes",
    "Watch",
    "flap",
    "reboot",
    "run_packets",
    "settings_for",
]
