"""Kinds of collector by name: what a watch can look at."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from netloom.ops.observe.designed import Designed
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport
    from netloom.ops.observe.naming import Naming
    from netloom.ops.observe.observation import Collector

__all__ = ["COLLECTORS", "CollectContext", "CollectorKind"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CollectContext:
    """What a collector may need to know.

    Attributes:
        designed: What should be there.
        naming: What devices and ports are called there.
        scratch: A folder for files of programs; it is gone when the watch ends.
        fresh_s: For how long a source that was seen speaks of now.
        closing: Closes at the end of the watch what collectors keep open.
    """

    designed: Designed
    naming: Naming
    scratch: Path
    fresh_s: float
    closing: ExitStack = field(default_factory=ExitStack)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorKind:
    """One kind of collector.

    Attributes:
        name: What ``netloom watch --collect`` calls it.
        summary: What it looks at, and what its target is.
        collectors: Returns those that look at a target: a path, a URL, or what else it says.
        is_vital: Whether findings may not be closed while the source of that name fails, because
            it tells of cables and devices.
        opened: Where it looks at devices: returns what asks one of an inventory once.
        labels: How such a device numbers its ports unless told, as ``--labels`` has it.
    """

    name: str
    summary: str
    collectors: Callable[[str, CollectContext], Sequence[Collector]]
    is_vital: Callable[[str], bool]
    opened: Callable[[DeviceAccess, CollectContext], Callable[[], DeviceReport]] | None = None
    labels: str = ""


COLLECTORS: Final = Register[CollectorKind](
    kind="collector",
    traits=CollectorKind,
    home="netloom.app.watch.collectors",
    entry_point_group="netloom.collectors",
)
