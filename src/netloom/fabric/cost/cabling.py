"""Which cable and which transceivers reach, and how many of each it takes.

Of all that reach, the cheapest is taken, both ends counted. Copper stays inside its rack: it is
too stiff for the tray. A transceiver may serve several cables of the same device,
so transceivers are counted device by device.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netloom.fabric.cost.layout import LENGTHS_M
from netloom.fabric.cost.modules import CableGroup, Modules, apportion, count_modules
from netloom.fabric.cost.optics import Shop, devices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from netloom.fabric.cost.layout import FloorLayout, StageLengths
    from netloom.fabric.design import Design
    from netloom.parts.parts import CableType, Node, Transceiver

__all__ = ["Cabling", "cable_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cabling:
    """Everything between the boxes."""

    runs: tuple[CableGroup, ...]
    modules: tuple[Modules, ...]

    @property
    def num_modules_by_level(self) -> dict[str, int]:
        """Transceivers of all kinds on the nodes and on the switches of each tier."""
        levels: Counter[str] = Counter()
        for modules in self.modules:
            levels[modules.level] += modules.num_modules
        return dict(levels)

    def lengths_to_json(self) -> list[dict[str, Any]]:
        """Return what is ordered in which length, as plain data."""
        return [
            {
                "lower": run.stage.lower,
                "upper": run.stage.upper,
                "length_m": run.length_m,
                "cables": run.num_cables,
                "cable": run.cable.name,
                "medium": run.cable.medium,
            }
            for run in self.runs
        ]


def cable_up(
    design: Design,
    layout: FloorLayout,
    node: Node,
    *,
    cables: Iterable[CableType],
    transceivers: Iterable[Transceiver],
) -> Cabling:
    """Return the cables and transceivers that join *design* as laid out.

    Raises:
        InfeasibleError: nothing that was given reaches; names length, rate and stage.
    """
    cages = devices(design, node)
    cables, transceivers = tuple(cables), tuple(transceivers)
    runs: list[CableGroup] = []
    for route in layout.routes:
        stage = route.stage
        lower, upper = cages[stage.lower], cages[stage.upper]
        shop = Shop(
            stage=stage,
            shared_cages=lower.shares(stage.rate_bps) or upper.shares(stage.rate_bps),
            cables=cables,
            at_lower=tuple(m for m in transceivers if lower.takes(m, stage.rate_bps)),
            at_upper=tuple(m for m in transceivers if upper.takes(m, stage.rate_bps)),
        )
        runs += _runs(route, shop)
    return Cabling(runs=tuple(runs), modules=tuple(count_modules(design, runs)))


def _runs(route: StageLengths, shop: Shop) -> Iterator[CableGroup]:
    beyond_m = max(route.longest_m, LENGTHS_M[-1])  # a length that is not sold: no offer will reach
    steps = np.array(sorted({*LENGTHS_M, *shop.reaches_m, beyond_m}), dtype=np.float64)
    wanted = np.array([_by_step(route.in_rack, steps), _by_step(route.over_tray, steps)])
    counts = apportion(wanted.ravel(), route.stage.num_cables).reshape(wanted.shape)
    for row, column in np.argwhere(counts):
        length_m = float(steps[column])
        offer = shop.best(length_m, in_rack=row == 0)
        yield CableGroup(
            stage=route.stage,
            length_m=length_m,
            in_rack=row == 0,
            num_cables=int(counts[row, column]),
            cable=offer.cable,
            lower=offer.lower,
            upper=offer.upper,
        )


def _by_step(by_metre: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many cables are ordered in each length: the next one that is long enough."""
    metres = np.flatnonzero(by_metre)
    step = np.searchsorted(steps, metres.astype(np.float64))
    return np.bincount(step, weights=by_metre[metres], minlength=len(steps)).astype(np.float64)
