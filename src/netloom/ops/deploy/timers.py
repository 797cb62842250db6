"""How soon routers notice what is wrong: the same on every system, so that failover is too."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ADVERTISE_S",
    "BFD_MS",
    "BFD_MULTIPLIER",
    "CONNECT_S",
    "HOLD_S",
    "KEEPALIVE_S",
]

BFD_MS: Final = 300  # below some 150 ms a busy machine misses its own deadlines
BFD_MULTIPLIER: Final = 3
KEEPALIVE_S: Final = 1
HOLD_S: Final = 3
CONNECT_S: Final = 1  # until a session that failed is tried again
ADVERTISE_S: Final = 0  # between updates to a neighbour
