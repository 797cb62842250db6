"""EOS's configuration for several lossless classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.service_classes import ServiceClass

__all__ = ["class_lines"]


def class_lines(classes: Sequence[ServiceClass]) -> str:
    """Return the lines: maps, and a profile of queues to put on ports."""
    lines = [f"qos map dscp {one.dscp} to traffic-class {one.priority}" for one in classes]
    lines.append("qos profile stages")
    lines += [f"   priority-flow-control priority {one.priority} no-drop" for one in classes]
    for one in classes:
        lines.append(f"   uc-tx-queue {one.priority}")
        if one.weight:
            lines += ["      no priority", f"      bandwidth percent {max(1, round(one.weight))}"]
        else:
            lines.append("      priority strict")
    return "".join(f"{line}\n" for line in lines)
