"""From how much on that waits for it each link marks packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import Ecn
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["NEVER_BYTES", "kmin_bytes", "marking"]

NEVER_BYTES: Final = 1 << 60


def marking(wiring: PacketTopology, ecn: Ecn | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return Kmin and Kmax of each link, ``NEVER_BYTES`` where it marks nothing."""
    if ecn is None:
        never = np.full(wiring.num_links, NEVER_BYTES, dtype=np.int64)
        return never, never
    silent = (wiring.link_target < wiring.num_endpoints) & (not ecn.to_endpoints)
    kmin, kmax = kmin_bytes(wiring, ecn), _scaled(wiring, ecn, ecn.kmax_bytes)
    return np.where(silent, NEVER_BYTES, kmin), np.where(silent, NEVER_BYTES, kmax)


def kmin_bytes(wiring: PacketTopology, ecn: Ecn) -> NDArray[np.int64]:
    """Return from how much on each link marks, if it marks at all."""
    return _scaled(wiring, ecn, ecn.kmin_bytes)


def _scaled(wiring: PacketTopology, ecn: Ecn, size_bytes: int) -> NDArray[np.int64]:
    rate_bps = wiring.link_rate_bps
    scale = rate_bps / ecn.at_rate_bps if ecn.at_rate_bps else np.ones_like(rate_bps)
    return np.asarray(np.floor(scale * size_bytes).astype(np.int64))
