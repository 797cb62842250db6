"""A host's own programs for its adapters: ethtool and mlxlink, here or by ssh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.drivers.devices.shell import HostShell
from netloom.formats.linux.adapters import (
    ETHTOOL_SCRIPT,
    MLXLINK_SCRIPT,
    ethtool_report,
    mlxlink_report,
)

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look_by_ethtool", "look_by_mlxlink"]


def look_by_ethtool(access: DeviceAccess) -> DeviceReport:
    """Return what ethtool says of a host's interfaces.

    Raises:
        LabError: the host does not answer in time.
    """
    return ethtool_report(HostShell(access).run(["sh", "-c", ETHTOOL_SCRIPT]))


def look_by_mlxlink(access: DeviceAccess) -> DeviceReport:
    """Return what mlxlink says of a host's NVIDIA adapters.

    Raises:
        LabError: the host does not answer in time.
    """
    return mlxlink_report(HostShell(access).run(["sh", "-c", MLXLINK_SCRIPT]))
