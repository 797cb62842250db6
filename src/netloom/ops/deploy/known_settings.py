"""Published settings, recognised in the configuration of a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.fabric.wire.published_settings import PUBLISHED_SETTINGS

if TYPE_CHECKING:
    from netloom.fabric.wire.published_settings import PublishedSettings
    from netloom.ops.deploy.device import DeviceConfig
    from netloom.ops.deploy.ports import Marks

__all__ = ["settings_in"]


def settings_in(device: DeviceConfig) -> tuple[str, ...]:
    """Return the names of published settings whose marks a queue of *device* has, to the byte.

    Those that grow with the rate are known by it alone: not where the file does not say the rate.
    """
    seen = {
        (marks, port.rate_bps) for port in device.ports.values() for marks in port.marks.values()
    }
    return tuple(
        one.name
        for one in PUBLISHED_SETTINGS.entries()
        if any(_is(one, marks, rate_bps) for marks, rate_bps in seen)
    )


def _is(one: PublishedSettings, marks: Marks, rate_bps: float | None) -> bool:
    wanted = one.marking
    if wanted is None or (one.marking_rate_bps and rate_bps is None):
        return False
    scale = (rate_bps or 0.0) / one.marking_rate_bps if one.marking_rate_bps else 1.0
    return (marks.least_bytes, marks.most_bytes, marks.mark_pct) == (
        round(scale * wanted.kmin_bytes),
        round(scale * wanted.kmax_bytes),
        round(100 * wanted.pmax),
    )
