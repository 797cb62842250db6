"""A simulation over time: load, queue and pauses of every cable, a frame each span."""

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
QUANTITIES: Final = {"load": "utilisation", "queue": "queued_bytes", "paused": "paused_share"}
_S: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """Frames of a run, of the worse direction of each cable.

    Attributes:
        layout: The cells.
        times_s: When each frame begins.
        every_s: How long each lasts.
        most_queued_bytes: The longest queue of any frame: what 255 stands for in those of queues.
        bytes_of: By quantity, a row a frame and a byte a cell: 1 for nothing to 255 for the full
            rate (``load``), for the longest queue (``queue``), for paused all the time
            (``paused``). Flows have loads alone.
    """

    layout: FabricLayout
    times_s: tuple[float, ...]
    every_s: float
    most_queued_bytes: float
    bytes_of: dict[str, NDArray[np.uint8]]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/serve.md documents."""
        return {
            "num_frames": len(self.times_s),
            "times_s": list(self.times_s),
            "every_s": self.every_s,
            "quantities": list(self.bytes_of),
            "most_queued_bytes": self.most_queued_bytes,
            "fabric": self.layout.to_json(),
        }

    def frames(self) -> bytes:
        """Return all frames, one quantity after the other."""
        return b"".join(one.tobytes() for one in self.bytes_of.values())


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
    known = {name: key for name, key in QUANTITIES.items() if key in table}
    if len(known) * len(times_ps) * len(layout.cables) > MAX_BYTES:
        return None
    links = table["link"].astype(np.int64)

    def drawn(key: str, full: float) -> NDArray[np.uint8]:
        share = np.zeros((len(times_ps), len(grid.link_source)), dtype=np.float32)
        share[frame, links] = table[key].astype(np.float32) / np.float32(full)
        worse = np.maximum(share[:, 0::2], share[:, 1::2])[:, layout.cables]
        found: NDArray[np.uint8] = 1 + np.rint(np.clip(worse, 0.0, 1.0) * (FULL - 1)).astype(
            np.uint8
        )
        return found

    most_bytes = float(np.max(table["queued_bytes"])) if "queued_bytes" in table else 0.0
    spans_ps = np.diff([*times_ps.tolist(), simulation.first.delivery.simulated_ps])
    return Replay(
        layout=layout,
        times_s=tuple((times_ps * _S).tolist()),
        every_s=float(spans_ps[0]) * _S,
        most_queued_bytes=most_bytes,
        bytes_of={
            name: drawn(key, max(most_bytes, 1.0) if name == "queue" else 1.0)
            for name, key in known.items()
        },
    )
