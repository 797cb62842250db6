"""Exporters of hosts, by Prometheus' text format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.drivers.devices.web import fetch
from netloom.drivers.prometheus import MEDIA
from netloom.formats.prometheus.exporters import report_of
from netloom.formats.prometheus.exposition import parse_exposition

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a host's exporter says now.

    Raises:
        LabError: it does not answer in time, or says something else.
    """
    text = fetch(access, headers={"Accept": MEDIA}).decode("utf-8", errors="replace")
    return report_of(parse_exposition(text))
