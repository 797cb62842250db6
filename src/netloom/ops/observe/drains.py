"""Drains that people declare: parts of the network that are out of use on purpose, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import NetloomError, SpecError
from netloom.fabric.part_id import PartId

if TYPE_CHECKING:
    from netloom.ops.plant import Plant

__all__ = ["MAX_DRAINS", "declared_drains"]

MAX_DRAINS: Final = 100_000


def declared_drains(text: str, plant: Plant, *, name: str) -> frozenset[int]:
    """Return the numbers of the cables that a list of parts takes out of use.

    A part is a switch or host (``spine:3``), or a cable (``cable:40``); what follows ``#`` is a
    remark.

    Args:
        text: The list.
        plant: As designed.
        name: Of the file.

    Raises:
        SpecError: a line names no part of the network.
    """
    found: set[int] = set()
    for number, line in enumerate(text.splitlines()[:MAX_DRAINS], start=1):
        word = line.partition("#")[0].strip()
        if not word:
            continue
        try:
            cables = plant.cables_of(PartId.parse(word))
        except NetloomError as error:
            raise SpecError(
                file=name,
                line=number,
                what=f"{word[:60]!r} is no part of this network",
                remedy="write parts such as spine:3 or cable:40",
            ) from error
        found |= {cable.number for cable in cables}
    return frozenset(found)
