"""Cables of a lab that healing drained on purpose, as its log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.ops.heal.log import in_force, parse_entries

if TYPE_CHECKING:
    from netloom.app.lab.store import LabFolder
    from netloom.ops.plant import Plant

__all__ = ["HEAL_LOG", "MAX_LOG_BYTES", "planned_drains"]

HEAL_LOG: Final = "heal.jsonl"
MAX_LOG_BYTES: Final = 2**28


def planned_drains(place: LabFolder, plant: Plant) -> frozenset[int]:
    """Return the numbers of the cables that are drained; none before the first was.

    What was done to an earlier lab of the same name does not count.

    Raises:
        LabError: the log cannot be read.
        SpecError: a later netloom wrote it.
    """
    path = place.path / HEAL_LOG
    try:
        with path.open("rb") as file:
            text = file.read(MAX_LOG_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise LabError(file=str(path), what=f"cannot be read ({error.strerror})") from error
    born_s = place.born_at_s
    entries = [entry for entry in parse_entries(text, name=str(path)) if entry.at_s >= born_s]
    return frozenset(
        cable.number
        for entry in in_force(entries)
        if entry.verb == "drain"
        for cable in plant.cables_of(entry.part)
    )
