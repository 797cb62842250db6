"""A run cut into parts of whole components, each a simulation of its own."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.workload.transfers import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.apart.components import Components
    from netloom.engines.packet.lower import Lowered

__all__ = ["RunPart", "cut"]

# Columns of what is moved (empty where all are alike), of all rows, and of faults.
_MOVED: Final = ("source", "target", "size_bytes", "lane", "source_port", "turn", "local")
_ROWS: Final = ("start_ps", "delay_ps")
_FAULTS: Final = ("when_ps", "what", "link", "value", "burst", "least_bytes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunPart:
    """Some components of a run.

    Attributes:
        made: What the core's constructor takes.
        row: The rows of work that are in it.
        has_link: Of each link, whether it is this part's to tell of.
    """

    made: Lowered
    row: NDArray[np.int64]
    has_link: NDArray[np.bool_]


def cut(made: Lowered, components: Components, *, num_parts: int) -> list[RunPart]:
    """Return *made* in parts of about equal payload.

    Args:
        made: The whole run.
        components: Of the run, of each row of its work.
        num_parts: At most as many as there are components.
    """
    component = components.transfer
    size_bytes = np.zeros(len(component))
    moved: NDArray[np.int64] = made.arrays["size_bytes"]  # type: ignore[assignment]
    size_bytes[: len(moved)] = moved
    weight = np.bincount(component, size_bytes, minlength=components.count).astype(np.float64)
    part_of = _dealt(weight, num_parts)
    return [
        _part(made, np.flatnonzero(part_of[component] == part), part_of[components.link] == part)
        for part in range(num_parts)
    ]


def _dealt(weight: NDArray[np.float64], num_parts: int) -> NDArray[np.int64]:
    """Return the part of each component: the heaviest first, each to the part that has least."""
    parts = [(0.0, part) for part in range(num_parts)]
    found = np.zeros(len(weight), dtype=np.int64)
    for component in np.argsort(-weight, kind="stable").tolist():
        has, part = heapq.heappop(parts)
        found[component] = part
        heapq.heappush(parts, (has + weight[component], part))
    return found


def _part(made: Lowered, row: NDArray[np.int64], has_link: NDArray[np.bool_]) -> RunPart:
    arrays: dict[str, Any] = dict(made.arrays)
    moved = row[row < len(arrays["source"])]
    offsets = arrays["wait_offsets"]
    place = np.full(len(offsets) - 1, -1, dtype=np.int64)
    place[row] = np.arange(len(row))
    begin, end = offsets[row], offsets[row + 1]
    fault = has_link[arrays["fault_link"]]
    arrays |= {name: arrays[name][moved] for name in (*_MOVED, "connection") if len(arrays[name])}
    arrays |= {name: arrays[name][row] for name in _ROWS}
    arrays |= {f"fault_{name}": arrays[f"fault_{name}"][fault] for name in _FAULTS}
    arrays["wait_offsets"] = np.concatenate([[0], np.cumsum(end - begin)])
    arrays["waits"] = place[arrays["waits"][spans(begin, end)]].astype(np.int32)
    return RunPart(made=replace(made, arrays=arrays), row=row, has_link=has_link)
