"""The communications of many configurations, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from netloom.step.schedule import Traffic
from netloom.workload.communication import Communication

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.step.practice import Practice
    from netloom.study.plan.tables import CostQuery

__all__ = ["gathered_traffic"]

Array: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Gathered(Communication):
    """One communication of many configurations."""

    time_s: Array
    between_nodes: Array


class _GatheredTraffic(Traffic):
    """What many steps communicate."""

    __slots__ = ()

    def time_s(self, item: Communication) -> float:
        assert isinstance(item, _Gathered)
        return item.time_s  # type: ignore[no-any-return]

    def is_between_nodes(self, item: Communication) -> bool:
        assert isinstance(item, _Gathered)
        return item.between_nodes  # type: ignore[no-any-return]


def gathered_traffic(
    asked: Sequence[Sequence[CostQuery]], *, units: Mapping[str, Array], practice: Practice
) -> Traffic:
    """Return what many configurations communicate.

    Args:
        asked: By axis, and for each axis by configuration.
        units: How often a step has one of each kind, by configuration.
        practice: What the software overlaps.
    """
    items = tuple(item for axis in asked for item in _items(axis, units))
    return _GatheredTraffic(communications=items, durations_s={}, practice=practice)


def _items(asked: Sequence[CostQuery], units: Mapping[str, Array]) -> Iterator[_Gathered]:
    """Yield the communications of one axis; one that a configuration has not takes no time."""
    distinct = {id(one): one for one in asked}
    places = {key: place for place, key in enumerate(distinct)}
    slots = {slot: item for one in distinct.values() for slot, item in one.items.items()}
    columns = {slot: column for column, slot in enumerate(slots)}
    numbers = np.zeros((len(distinct), len(slots), 4))
    for place, one in enumerate(distinct.values()):
        for slot, row in zip(one.items, one.numbers, strict=True):
            numbers[place, columns[slot]] = row
    chosen: Array = numbers[[places[id(one)] for one in asked]]
    for column, item in enumerate(slots.values()):
        time_s, each, between_nodes, host_s = (chosen[:, column, k, None] for k in range(4))
        yield _Gathered(
            axis=item.axis,
            purpose=item.purpose,
            phase=item.phase,
            collective=item.collective,
            each=each,
            per=item.per,
            window=item.window,
            count=each * units[item.per],
            host_s=host_s,
            time_s=time_s,
            between_nodes=between_nodes,
        )
