"""The source ports of a transfer's connections, which decide where a hash sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mixed_ports"]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Knuth, TAOCP 3, 6.4
_MIX: Final = np.uint64(0xBF58476D1CE4E5B9)  # of splitmix64: Steele, Lea and Flood (2014)


def mixed_ports(
    port: NDArray[np.uint16], number: NDArray[np.int64], *, seed: int
) -> NDArray[np.uint16]:
    """Return the source port of connection *number* beside the first, which has *port*.

    Ports are those of RoCEv2, 0xC000 and above. Number 0 under seed 0 keeps its port.
    """
    key = port.astype(np.uint64) + (number.astype(np.uint64) + np.uint64(seed << 16)) * _GOLDEN
    key = (key ^ (key >> np.uint64(30))) * _MIX
    mixed = ((key ^ (key >> np.uint64(31))) & np.uint64(0x3FFF)) | np.uint64(0xC000)
    kept = (number == 0) & (seed == 0)
    return np.where(kept, port, mixed).astype(np.uint16)
