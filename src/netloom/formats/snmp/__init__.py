"""SNMP: what net-snmp's programs print of a device."""

from __future__ import annotations
