"""Frames of a job, kept beside its result: a line of JSON, then a byte a cell and frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from netloom.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_frames", "read_replay", "replay_path"]


def replay_path(result: Path) -> Path:
    """Return where the frames of the job with this result are."""
    return result.with_suffix(".replay")


def read_replay(path: Path) -> dict[str, Any] | None:
    """Return what the frames are of; None where there are none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        found: dict[str, Any] = json.loads(file.readline())
    return found


def read_frames(path: Path, quantity: str, first: int, last: int) -> bytes:
    """Return the frames of a quantity from *first* to before *last*; those that are there.

    Raises:
        SpecError: there are no frames of that quantity.
    """
    with path.open("rb") as file:
        head = json.loads(file.readline())
        if quantity not in head["quantities"]:
            raise SpecError(
                key="of",
                what=f"no frames of {quantity!r}",
                remedy=f"use {', '.join(head['quantities'])}",
            )
        cells, count = head["fabric"]["num_cells"], head["num_frames"]
        first = max(0, min(first, count))
        file.seek((head["quantities"].index(quantity) * count + first) * cells, 1)
        return file.read(max(0, min(last, count) - first) * cells)
