"""The same job on more and fewer GPUs (weak scaling)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KEPT", "ScalingCurve", "ScalingPoint", "curve"]

KEPT = 0.9  # of the small cluster's efficiency; below it a cluster counts as too large


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPoint:
    """One cluster size.

    Attributes:
        whole: Whether the whole model runs; where it would not fit it is cut to fewer layers.
    """

    num_gpus: int
    mfu: float
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """Efficiency over cluster size.

    Attributes:
        points: Smallest first; it ends where the network cannot be built any more.
        limit_gpus: The largest cluster that keeps 90 % of the smallest whole one's MFU.
        limit_reason: ``efficiency`` when it falls below just after that, ``network`` when no
            larger network can be built, ``addresses`` when one control plane cannot name more
            ports, ``range`` when the curve ends before any of these.
    """

    points: tuple[ScalingPoint, ...]
    limit_gpus: int | None
    limit_reason: str


def curve(points: Sequence[ScalingPoint], *, ended_by: str) -> ScalingCurve:
    """Return the curve through *points*, smallest first, which was *ended_by* something."""
    limit, fell = _limit([point for point in points if point.whole])
    return ScalingCurve(
        points=tuple(points), limit_gpus=limit, limit_reason="efficiency" if fell else ended_by
    )


def _limit(points: Sequence[ScalingPoint]) -> tuple[int | None, bool]:
    """Return the size at which efficiency falls under KEPT, in whole small clusters, and if so."""
    if not points:
        return None, False
    floor = KEPT * points[0].mfu
    for before, after in itertools.pairwise(points):
        if after.mfu < floor:
            share = (before.mfu - floor) / (before.mfu - after.mfu)
            size = math.exp(
                math.log(before.num_gpus) + share * math.log(after.num_gpus / before.num_gpus)
            )
            return round(size / points[0].num_gpus) * points[0].num_gpus, True
    return points[-1].num_gpus, False
