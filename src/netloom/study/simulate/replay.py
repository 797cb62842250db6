"""A simulation over time: the load of every cable, a frame each span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.fabric.layout import layout_of_links
from netloom.study.simulate.packet import PacketRunner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.layout import FabricLayout
    from netloom.study.simulate.run import SimulationCase
    from netloom.study.simulate.simulation import Simulation

__all__ = ["Replay", "filmed", "replay_of"]

FULL: Final = 255  # 1 is idle, as a page draws it
MAX_BYTES: Final = 64 << 20
_S: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """Frames of a run.

    Attributes:
        layout: The cells.
        times_s: When each frame begins.
        every_s: How long each lasts.
        load: A row a frame, a byte a cell: 1 for idle to 255 for the full rate, of the busier
            direction.
    """

    layout: FabricLayout
    times_s: tuple[float, ...]
    every_s: float
    load: NDArray[np.uint8]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "num_frames": len(self.times_s),
            "times_s": list(self.times_s),
            "every_s": self.every_s,
            "fabric": self.layout.to_json(),
        }


def filmed(case: SimulationCase) -> SimulationCase:
    """Return *case* so that it can be replayed: packets tell of links over time only when asked."""
    if not isinstance(case.runner, PacketRunner):
        return case
    return replace(case, runner=replace(case.runner, films=True))


def replay_of(simulation: Simulation) -> Replay | None:
    """Return the frames of the first run; None where its engine tells no use of links over time."""
    table = simulation.first.delivery.tables.get("utilisation")
    if table is None or not len(table["link"]):
        return None
    grid = simulation.grid
    times_ps, frame = np.unique(table["from_ps"].astype(np.int64), return_inverse=True)
    layout = layout_of_links(grid.name, grid.link_source, grid.link_target)
    if len(times_ps) * len(layout.cables) > MAX_BYTES:
        return None
    share = np.zeros((len(times_ps), len(grid.link_source)), dtype=np.float32)
    share[frame, table["link"].astype(np.int64)] = table["utilisation"]
    busier = np.maximum(share[:, 0::2], share[:, 1::2])[:, layout.cables]
    load = 1 + np.rint(np.clip(busier, 0.0, 1.0) * (FULL - 1))
    spans_ps = np.diff([*times_ps.tolist(), simulation.first.delivery.simulated_ps])
    return Replay(
        layout=layout,
        times_s=tuple((times_ps * _S).tolist()),
        every_s=float(spans_ps[0]) * _S,
        load=load.astype(np.uint8),
    )
