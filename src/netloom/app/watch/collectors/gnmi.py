"""Switches by gNMI, with OpenConfig's paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.kind import opened_kind
from netloom.drivers.devices.gnmi import subscribe

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["ENTRY"]

MIN_SAMPLE_S: Final = 1.0


def _opened(access: DeviceAccess, context: CollectContext) -> Callable[[], DeviceReport]:
    sample_s = max(MIN_SAMPLE_S, min(context.fresh_s / 3, 60.0))
    return subscribe(access, context.closing, sample_s=sample_s)


ENTRY: Final = opened_kind(
    "gnmi",
    "a switch by gNMI and OpenConfig's paths; address: HOST:PORT (9339), http:// before it for "
    "no TLS",
    _opened,
)
