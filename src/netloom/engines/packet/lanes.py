"""InfiniBand's virtual lanes: which service level takes which, and in what turn they send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from netloom.engines.delivery import Columns

__all__ = ["VirtualLanes", "arbitration_arrays", "lanes_of"]

NUM_LANES: Final = 15  # VL 15 is for management (InfiniBand vol. 1, section 7.6; recalled)
MAX_ENTRIES: Final = 64
MAX_WEIGHT: Final = 255
NO_LIMIT: Final = 255
_WEIGHT_BYTES: Final = 64
_LIMIT_BYTES: Final = 4096
_LEVELS: Final = 8  # priorities that a transfer may have

Table = tuple[tuple[int, int], ...]
_EVEN: Final[Table] = tuple((lane, 4) for lane in range(NUM_LANES))


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualLanes:
    """How service levels share a link, on every port alike.

    Without, each service level has the lane of its own number and all take turns: what OpenSM
    sets up with QoS on gives lanes 1 to 14 equal low weights of 4 (recalled).

    Attributes:
        lane_of: The virtual lane of a service level (a transfer's priority); its own number for
            those left out.
        high: Entries (lane, weight) of the high-priority table, in turn; a weight is 64 bytes.
        low: Those of the low-priority table.
        high_limit: How much high-priority traffic may pass before a waiting packet of the low
            table gets its turn, in 4096 bytes; 0 for one packet, 255 for no limit.
    """

    lane_of: Mapping[int, int] = field(default_factory=dict)
    high: Table = ()
    low: Table = _EVEN
    high_limit: int = 0

    def __post_init__(self) -> None:
        """Refuse what no port can be set to."""
        for name, table in (("high", self.high), ("low", self.low)):
            if len(table) > MAX_ENTRIES:
                raise SpecError(
                    key=f"lanes.{name}",
                    what=f"{len(table)} entries",
                    remedy=f"a table has {MAX_ENTRIES} at most",
                )
            for lane, weight in table:
                _between(f"lanes.{name}", lane, NUM_LANES - 1, "virtual lane")
                _between(f"lanes.{name}", weight, MAX_WEIGHT, "weight")
        for level, lane in self.lane_of.items():
            _between("lanes.lane_of", level, _LEVELS - 1, "service level")
            _between("lanes.lane_of", lane, NUM_LANES - 1, "virtual lane")
        _between("lanes.high_limit", self.high_limit, NO_LIMIT, "limit")

    def weighed(self, lane: int) -> bool:
        """Whether a virtual lane ever gets a turn."""
        return any(entry == lane and weight for entry, weight in self.high + self.low)


def _between(where: str, value: int, most: int, what: str) -> None:
    if not 0 <= value <= most:
        raise SpecError(key=where, what=f"{value} is no {what}", remedy=f"use 0 to {most}")


def lanes_of(
    priority: NDArray[np.uint8],
    lanes: VirtualLanes | None,
    also: frozenset[int] = frozenset(),
) -> tuple[list[int], NDArray[np.uint8]]:
    """Return the lanes in use and the number (from 1) of each transfer's; 0 is for control.

    Without *lanes* these are the priorities, highest first, else virtual lanes, lowest first. Those
    in *also* have a lane whether or not a transfer asks for it.

    Raises:
        SpecError: a lane in use has no weight in either table, and would starve.
    """
    levels = sorted({*priority.tolist(), *also}) or [0]
    lane_of = {level: level for level in levels}
    if lanes is not None:
        lane_of = {level: lanes.lane_of.get(level, level) for level in levels}
    used = sorted(set(lane_of.values()), reverse=lanes is None)
    number = np.zeros(_LEVELS, dtype=np.uint8)
    for level, lane in lane_of.items():
        number[level] = 1 + used.index(lane)
        if lanes is not None and not lanes.weighed(lane):
            raise SpecError(
                key="lanes",
                what=(
                    f"virtual lane {lane} is in use (service level {level}) and has no "
                    "weight in 'high' or 'low'"
                ),
                remedy="give it one, or it starves",
            )
    return used, number[priority]


def arbitration_arrays(lanes: VirtualLanes | None, used: list[int]) -> Columns:
    """Return both tables as the core wants them; empty where one lane is in use."""
    tables = {"high": lanes.high, "low": lanes.low} if lanes and len(used) > 1 else {}
    arrays: Columns = {}
    for name in ("high", "low"):
        entries = [
            (1 + used.index(lane), weight * _WEIGHT_BYTES)
            for lane, weight in tables.get(name, ())
            if lane in used and weight
        ]
        arrays[f"{name}_lane"] = np.array([lane for lane, _ in entries], dtype=np.uint8)
        arrays[f"{name}_bytes"] = np.array([size for _, size in entries], dtype=np.uint32)
    return arrays


def limit_bytes(lanes: VirtualLanes | None) -> int:
    """Return the limit of high priority in bytes; -1 for none."""
    if lanes is None or lanes.high_limit == NO_LIMIT:
        return -1
    return lanes.high_limit * _LIMIT_BYTES
