"""SONiC's tables for several lossless classes, as a patch of CONFIG_DB."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.service_classes import ServiceClass

__all__ = ["class_tables"]


def class_tables(classes: Sequence[ServiceClass], ports: Sequence[str]) -> str:
    """Return the tables as JSON for ``config load``; marks stay with the profile AZURE_LOSSLESS."""
    levels = {one.priority: one for one in classes}
    pauses = ",".join(str(level) for level in sorted(levels))
    scheduler = {
        f"scheduler.{level}": (
            {"type": "DWRR", "weight": str(max(1, round(one.weight)))}
            if one.weight
            else {"type": "STRICT"}
        )
        for level, one in sorted(levels.items())
    }
    tables: dict[str, Any] = {
        "DSCP_TO_TC_MAP": {"AZURE": {str(one.dscp): str(one.priority) for one in classes}},
        "TC_TO_QUEUE_MAP": {"AZURE": {str(level): str(level) for level in sorted(levels)}},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(level): str(level) for level in sorted(levels)}},
        "SCHEDULER": scheduler,
        "PORT_QOS_MAP": {port: {"pfc_enable": pauses} for port in ports},
        "QUEUE": {
            f"{port}|{level}": {
                "scheduler": f"scheduler.{level}",
                "wred_profile": "AZURE_LOSSLESS",
            }
            for port in ports
            for level in sorted(levels)
        },
    }
    return f"{json.dumps(tables, indent=2)}\n"
