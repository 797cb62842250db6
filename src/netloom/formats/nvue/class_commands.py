"""NVUE's commands for several lossless classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.service_classes import ServiceClass

__all__ = ["class_commands"]


def class_commands(classes: Sequence[ServiceClass]) -> str:
    """Return the commands; thresholds of marks are those of the one class that is there."""
    lines = []
    for one in classes:
        level, queue = one.priority, "nv set qos egress-queue-mapping default-global"
        lines += [
            f"nv set qos mapping default-global dscp {one.dscp} switch-priority {level}",
            f"nv set qos pfc default-global switch-priority {level}",
            f"{queue} switch-priority {level} traffic-class {level}",
        ]
        way = "nv set qos egress-scheduler default-global traffic-class"
        mode = f"mode dwrr bw-percent {max(1, round(one.weight))}" if one.weight else "mode strict"
        lines += [
            f"{way} {level} {mode}",
            f"nv set qos congestion-control default-global traffic-class {level} ecn enable",
        ]
    return "".join(f"{line}\n" for line in lines)
