"""Calibrate to one's own GPU and network: both write one file of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.calibrate.gpu_operators import gpu
    from netloom.app.calibrate.network_logs import network

__all__ = ["gpu", "network"]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.calibrate.gpu_operators": ("gpu",),
        "netloom.app.calibrate.network_logs": ("network",),
    },
)
