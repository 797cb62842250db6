"""What every link carried, held and waited for, span by span; the core is asked between runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns
    from netloom.engines.native import PacketSimulation

__all__ = ["LinkFrames"]

MAX_FRAMES: Final = 200
MAX_NUMBERS: Final = 1 << 24
SAMPLES: Final = 4  # looks at queues and pauses in a frame, the last at its end


class LinkFrames:
    """Frames of equal length; when there are too many, two and two become one.

    Args:
        every_ps: How long a frame is at first.
        num_links: Of the network.
    """

    def __init__(self, every_ps: int, num_links: int) -> None:
        self.every_ps = max(every_ps, SAMPLES)
        self._most = max(2, min(MAX_FRAMES, MAX_NUMBERS // max(num_links, 1)) // 2 * 2)
        self._before = np.zeros(num_links, dtype=np.int64)
        self._carried: list[NDArray[np.float32]] = []
        self._queued: list[NDArray[np.float32]] = []
        self._paused: list[NDArray[np.float32]] = []
        self._looks = 0
        self._most_waiting = np.zeros(num_links, dtype=np.float32)
        self._times_paused = np.zeros(num_links, dtype=np.float32)

    @property
    def next_ps(self) -> int:
        """When it wants to look again."""
        return self.every_ps * len(self._carried) + self.every_ps * (self._looks + 1) // SAMPLES

    def look(self, simulation: PacketSimulation) -> None:
        """See what waits and what is paused now; at the end of a frame, what was carried, too."""
        waiting = simulation.waiting_bytes().astype(np.float32)
        self._most_waiting = np.maximum(self._most_waiting, waiting)
        self._times_paused += simulation.paused_lanes() != 0
        self._looks += 1
        if self._looks == SAMPLES:
            self._end(simulation.link_bytes())

    def table(self, rate_bps: NDArray[np.float64], link_bytes: NDArray[np.int64]) -> Columns:
        """Return a row a frame of each link that carried, held or waited for anything."""
        self._keep(link_bytes)
        carried, queued, paused = map(np.stack, (self._carried, self._queued, self._paused))
        links = np.flatnonzero(carried.any(axis=0) | queued.any(axis=0) | paused.any(axis=0))
        whole_bytes = rate_bps[links] * self.every_ps * 1e-12 / 8
        from_ps = np.arange(len(carried), dtype=np.int64) * self.every_ps
        return {
            "link": np.repeat(links, len(carried)),
            "from_ps": np.tile(from_ps, len(links)),
            "utilisation": (carried[:, links] / whole_bytes).T.ravel().astype(np.float32),
            "queued_bytes": queued[:, links].T.ravel(),
            "paused_share": paused[:, links].T.ravel(),
        }

    def _keep(self, link_bytes: NDArray[np.int64]) -> None:
        self._carried.append((link_bytes - self._before).astype(np.float32))
        self._queued.append(self._most_waiting)
        self._paused.append(self._times_paused / np.float32(max(self._looks, 1)))
        self._before = link_bytes

    def _end(self, link_bytes: NDArray[np.int64]) -> None:
        self._keep(link_bytes)
        self._looks = 0
        self._most_waiting = np.zeros_like(self._most_waiting)
        self._times_paused = np.zeros_like(self._times_paused)
        if len(self._carried) < self._most:
            return
        self._carried = [one + two for one, two in _pairs(self._carried)]
        self._queued = [np.maximum(one, two) for one, two in _pairs(self._queued)]
        self._paused = [(one + two) / np.float32(2) for one, two in _pairs(self._paused)]
        self.every_ps *= 2


def _pairs(
    frames: list[NDArray[np.float32]],
) -> zip[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    return zip(frames[0::2], frames[1::2], strict=True)
