"""How a kind of real device becomes a kind of collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.watch.devices.collector import DeviceCollector
from netloom.ops.observe.collectors import CollectorKind
from netloom.ops.observe.devices import DeviceAccess
from netloom.ops.observe.naming import parse_scheme
from netloom.ops.observe.port_names import PortNames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netloom.ops.observe.collectors import CollectContext
    from netloom.ops.observe.devices import DeviceReport
    from netloom.ops.observe.observation import Collector

__all__ = ["device_kind", "opened_kind"]


def device_kind(
    name: str,
    summary: str,
    look: Callable[[DeviceAccess], DeviceReport],
    *,
    labels: str = "",
    is_vital: bool = True,
) -> CollectorKind:
    """Return a kind of collector that asks a device again with every look.

    Args:
        name: Of the kind.
        summary: What it reads, and what its address is.
        look: Asks a device once.
        labels: How its ports are numbered where the inventory does not say.
        is_vital: Whether findings stay open while such a device cannot be seen.
    """

    def opened(access: DeviceAccess, _: CollectContext) -> Callable[[], DeviceReport]:
        return lambda: look(access)

    return opened_kind(name, summary, opened, labels=labels, is_vital=is_vital)


def opened_kind(
    name: str,
    summary: str,
    opened: Callable[[DeviceAccess, CollectContext], Callable[[], DeviceReport]],
    *,
    labels: str = "",
    is_vital: bool = True,
) -> CollectorKind:
    """Return the same of a device that something stays open to; the context closes it."""

    def collectors(target: str, context: CollectContext) -> Sequence[Collector]:
        access = DeviceAccess(name=target, address=target)
        scheme = parse_scheme(labels) if labels else None
        names = PortNames(name=target, naming=context.naming, scheme=scheme)
        look = opened(access, context)
        source = f"{name} {target}"[:200]
        return (
            DeviceCollector(source=source, look=look, names=names, deadline_s=access.deadline_s),
        )

    return CollectorKind(
        name=name,
        summary=summary,
        collectors=collectors,
        is_vital=lambda _: is_vital,
        opened=opened,
        labels=labels,
    )
