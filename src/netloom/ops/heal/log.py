"""The log of healing: what was about to be done, what was done, and what came of it.

One JSON object a line, only ever appended. An act that has a line ``before`` and none after it
was cut short: it is not known whether it was done.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from pydantic import TypeAdapter, ValidationError

from netloom.errors import SpecError
from netloom.fabric.part_id import PartId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Journal",
    "LogEntry",
    "finite",
    "in_force",
    "last_acts",
    "parse_entries",
    "render_entry",
    "unfinished",
]

Phase = Literal[
    "approved", "before", "after", "failed", "verified", "undoing", "undone", "not-undone"
]
VERSION: Final = 1
_UNREADABLE: Final = (
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
    *(ValidationError, SpecError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One line.

    Attributes:
        at_s: Seconds since 1970.
        act: Number of the act, counted over the life of the log.
        phase: ``approved``, with number 0, when a person approves a plan; ``before`` it, ``after``
            it or ``failed``; ``verified`` when it was looked at;
            ``undoing`` and then ``undone`` or ``not-undone``.
        verb: What is done.
        part: To which part.
        says: In words: why, what was done, what was seen.
        token: What undoing needs to know.
        detail: Of ``before``, the effect that was predicted.
        by: Who approved or asked for it; empty where policy let it run.
        plan: The plan's name.
    """

    at_s: float
    act: int
    phase: Phase
    verb: str
    part: PartId
    says: tuple[str, ...] = ()
    token: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    plan: str = ""


class Journal(Protocol):
    """Where entries go; one that is written is on the disk."""

    def entries(self) -> Sequence[LogEntry]:
        """Return all entries, oldest first."""
        ...

    def write(self, entry: LogEntry) -> None:
        """Append an entry, and return once it cannot be lost any more."""
        ...


def render_entry(entry: LogEntry) -> str:
    """Return the line of an entry, its end included."""
    line = {"version": VERSION, **asdict(entry), "part": str(entry.part)}
    return json.dumps(line, allow_nan=False) + "\n"


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return *values* with None for the numbers that JSON cannot hold."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def parse_entries(text: str, *, name: str = "the log") -> tuple[LogEntry, ...]:
    """Return the entries of a log; what a crash left of a line is passed over.

    Args:
        text: Of the log.
        name: Of the file; it opens the message.

    Raises:
        SpecError: a later netloom wrote it: what is in force cannot be known.
    """
    read = TypeAdapter(LogEntry)
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = json.loads(line)
            version = value.pop("version")
            if version == VERSION:
                value["part"] = PartId.parse(value["part"])
                found.append(read.validate_python(value))
                continue
        except _UNREADABLE:
            continue
        raise SpecError(
            what=(
                f"{name}:{number}: version {str(version)[:20]} of the log, and this "
                f"netloom reads {VERSION}"
            ),
            remedy=(
                "heal with the netloom that wrote it, or move the log away once nothing "
                "in it is in force"
            ),
        )
    return tuple(found)


def in_force(entries: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return the ``after`` entries of acts that were done and not undone, oldest first."""
    done: dict[int, LogEntry] = {}
    for entry in entries:
        if entry.phase == "after":
            done[entry.act] = entry
        elif entry.phase == "undone":
            done.pop(entry.act, None)
    return tuple(done.values())


def unfinished(entries: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return the entries that announce something whose end is not on record."""
    begun: dict[int, LogEntry] = {}
    for entry in entries:
        if entry.phase in ("before", "undoing"):
            begun[entry.act] = entry
        elif entry.phase != "verified":
            begun.pop(entry.act, None)
    return tuple(begun.values())


def last_acts(entries: Iterable[LogEntry]) -> dict[PartId, float]:
    """Return when each part was last acted on, whatever came of it; tickets do not count."""
    return {e.part: e.at_s for e in entries if e.phase == "before" and e.verb != "ticket"}
