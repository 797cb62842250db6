"""NVIDIA's switches by NVUE's REST API; only what is operational is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.devices.web import fetch_json, fetch_optional
from netloom.formats.nvue.state import INTERFACES, SESSIONS, SYSTEM, TRANSCEIVERS, report_of

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a switch says now.

    One without BGP or without modules says less, and that is no failure.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    deadline = Deadline(access.deadline_s)
    ports = fetch_json(access, INTERFACES, deadline=deadline)
    optics = fetch_optional(access, TRANSCEIVERS, deadline)
    sessions = fetch_optional(access, SESSIONS, deadline)
    return report_of(ports, optics, sessions, fetch_optional(access, SYSTEM, deadline))
