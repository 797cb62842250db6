"""What every link carried, span by span: bytes that the core counts, asked for between its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns

__all__ = ["LinkFrames"]

MAX_FRAMES: Final = 200
MAX_NUMBERS: Final = 1 << 24


class LinkFrames:
    """Frames of equal length; when there are too many, two and two become one.

    Args:
        every_ps: How long a frame is at first.
        num_links: Of the network.
    """

    def __init__(self, every_ps: int, num_links: int) -> None:
        self.every_ps = max(every_ps, 1)
        self.next_ps = self.every_ps
        self._most = max(2, min(MAX_FRAMES, MAX_NUMBERS // max(num_links, 1)) // 2 * 2)
        self._before = np.zeros(num_links, dtype=np.int64)
        self._frames: list[NDArray[np.float32]] = []

    def take(self, link_bytes: NDArray[np.int64]) -> None:
        """End a frame, given what each link has carried by now."""
        self._frames.append((link_bytes - self._before).astype(np.float32))
        self._before = link_bytes
        if len(self._frames) == self._most:
            some = self._frames
            self._frames = [one + two for one, two in zip(some[0::2], some[1::2], strict=True)]
            self.every_ps *= 2
        self.next_ps = self.every_ps * (len(self._frames) + 1)

    def table(self, rate_bps: NDArray[np.float64], link_bytes: NDArray[np.int64]) -> Columns:
        """Return link, begin and share of the rate, of links that carried anything."""
        rest = (link_bytes - self._before).astype(np.float32)
        carried = np.stack([*self._frames, rest])
        links = np.flatnonzero(carried.any(axis=0))
        whole_bytes = rate_bps[links] * self.every_ps * 1e-12 / 8
        share = (carried[:, links] / whole_bytes).T
        from_ps = np.arange(len(carried), dtype=np.int64) * self.every_ps
        return {
            "link": np.repeat(links, len(carried)),
            "from_ps": np.tile(from_ps, len(links)),
            "utilisation": share.ravel().astype(np.float32),
        }
