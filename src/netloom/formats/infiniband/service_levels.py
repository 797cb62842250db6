"""Classes as InfiniBand's service levels and virtual lanes, for OpenSM's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.deploy.service_classes import ServiceClass

__all__ = ["service_levels"]

MAX_WEIGHT: Final = 255
NO_LIMIT: Final = 255


def service_levels(classes: Sequence[ServiceClass]) -> str:
    """Return OpenSM's QoS options: a lane for each level, in order or by turns.

    In order: the first class has the high-priority table to itself without a limit, the others
    their weights in the low one, each four times the next: two tables give no more than two strict
    levels.
    """
    ordered = sorted(classes, key=lambda one: -one.priority)
    lane = {one.name: k for k, one in enumerate(ordered)}
    levels = ["0"] * 16
    for one in ordered:
        levels[one.priority] = str(lane[one.name])
    is_weighted = any(one.weight for one in ordered)
    if is_weighted:
        total = max(one.weight for one in ordered)
        low = ",".join(
            f"{lane[one.name]}:{max(1, round(MAX_WEIGHT * one.weight / total))}" for one in ordered
        )
        high, limit = f"{lane[ordered[0].name]}:0", 0
    else:
        high, limit = f"{lane[ordered[0].name]}:{MAX_WEIGHT}", NO_LIMIT
        low = ",".join(
            f"{lane[one.name]}:{max(1, MAX_WEIGHT >> (2 * k))}" for k, one in enumerate(ordered)
        )
    lines = [
        *(f"# {one.name}: service level {one.priority} (NCCL_IB_SL)" for one in ordered),
        "qos TRUE",
        f"qos_max_vls {max(2, len(ordered))}",
        f"qos_high_limit {limit}",
        f"qos_vlarb_high {high}",
        f"qos_vlarb_low {low}",
        f"qos_sl2vl {','.join(levels)}",
    ]
    return "".join(f"{line}\n" for line in lines)
