"""NVIDIA's switches by NVUE's REST API; only what is operational is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.web import fetch_json
from netloom.formats.nvue.state import report_of

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]

PATH: Final = "/nvue_v1/interface?rev=operational"


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a switch says now.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    return report_of(fetch_json(access, PATH))
