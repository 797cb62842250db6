"""A search on disk: the pieces that are done, and what they were done for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.study.plan.search import Piece, TimedConfiguration
from netloom.study.plan.space import STANDINGS, Configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.study.plan.space import Standing

__all__ = ["Key", "fingerprint", "from_text", "to_text"]

Key = tuple[int, int]  # machine, pipeline
_FORMAT: Final = 2


def fingerprint(*asked: object) -> str:
    """Return a short name of all that a search's answer depends on."""
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:16]


def to_text(pieces: Mapping[Key, Piece], *, asked: str) -> str:
    """Return *pieces* as text that :func:`from_text` reads."""
    rows = [
        {"machine": machine, "pipeline": pipeline} | asdict(piece)
        for (machine, pipeline), piece in pieces.items()
    ]
    return json.dumps({"netloom_plan": _FORMAT, "asked": asked, "pieces": rows}) + "\n"


def from_text(text: str, *, asked: str, where: str) -> dict[Key, Piece]:
    """Return the pieces in *text*.

    Raises:
        SpecError: it is not a search on disk, or one of another question.
    """
    try:
        found = json.loads(text)
        theirs, rows = (found["netloom_plan"], found["asked"]), found["pieces"]
        pieces = {(row["machine"], row["pipeline"]): _piece(row) for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SpecError(
            file=where, what="is not a search that netloom plan wrote", remedy="name another file"
        ) from error
    if theirs != (_FORMAT, asked):
        raise SpecError(
            file=where,
            what="was written for another scenario, other options or another netloom",
            remedy="name another file, or remove it to start again",
        )
    return pieces


def _standing(word: object) -> Standing:
    for standing in STANDINGS:
        if word == standing:
            return standing
    raise ValueError(word)


def _piece(row: Mapping[str, Any]) -> Piece:
    return Piece(
        configurations=row["configurations"],
        feasible=row["feasible"],
        candidates=tuple(
            TimedConfiguration(
                duration_s=one["duration_s"],
                standing=_standing(one["standing"]),
                configuration=Configuration(**one["configuration"]),
            )
            for one in row["candidates"]
        ),
    )
