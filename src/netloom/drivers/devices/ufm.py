"""NVIDIA UFM by its REST API; only what it knows is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.devices.web import fetch_json, fetch_optional
from netloom.formats.ufm.resources import ALARMS, PORTS, TELEMETRY, report_of

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]


def look(access: DeviceAccess) -> DeviceReport:
    """Return what UFM says now of all ports of its fabric.

    A UFM whose telemetry or alarms are off says less, and that is no failure.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    deadline = Deadline(access.deadline_s)
    ports = fetch_json(access, PORTS, deadline=deadline)
    alarms = fetch_optional(access, ALARMS, deadline)
    return report_of(ports, alarms, fetch_optional(access, TELEMETRY, deadline))
