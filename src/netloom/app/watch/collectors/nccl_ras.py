"""Jobs by NCCL's RAS: ranks that are missing, failed or stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.watch.devices.kind import opened_kind
from netloom.drivers.devices.nccl_ras import RasPort

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["ENTRY"]


def _opened(access: DeviceAccess, _: CollectContext) -> Callable[[], DeviceReport]:
    return RasPort(access).look


ENTRY: Final = opened_kind(
    "nccl-ras",
    "a job by NCCL's RAS; address: HOST:PORT (28028) of any of its processes",
    _opened,
    is_vital=False,
)
