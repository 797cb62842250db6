"""Findings over time: each opened once, seen again and again, closed once; kept in the store.

A case is one part with one kind of trouble. At most one case of a part and kind is open at a
time, which the file itself sees to, so neither a crash nor a restart makes a double.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import OutputError
from netloom.fabric.part_id import PartId
from netloom.ops.observe.store import MICRO
from netloom.ops.observe.store_file import NO_FINDINGS, check_version, store_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from netloom.ops.observe.store import ObservationStore

__all__ = [
    "Case",
    "CaseChange",
    "case_history",
    "cases_in",
    "follow_cases",
    "open_cases",
    "write_cases",
]

MISSES_TO_CLOSE: Final = 3  # looks in a row without it: one that misses it does not close it
MAX_OPEN: Final = 1000
MAX_TEXT: Final = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A finding and its time.

    Attributes:
        part: Which, whole.
        label: As text, with its ends and direction: ``cable:40 (leaf:3 - spine:0)``.
        kind: What is wrong with it.
        confidence: As of the last time it was found.
        magnitude: By kind.
        evidence: Sentences.
        hurts: How many GPUs.
        opened_s: When it was first found.
        seen_s: When last.
        num_missed: At how many rounds since it was not.
        closed_s: When it was held to be over; None while it is open.
    """

    part: PartId
    label: str
    kind: str
    confidence: float
    magnitude: float
    evidence: tuple[str, ...]
    hurts: int
    opened_s: float
    seen_s: float
    num_missed: int = 0
    closed_s: float | None = None

    @property
    def key(self) -> tuple[PartId, str]:
        """What tells it from other open ones: the part, and the kind."""
        return self.part, self.kind

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/watch.md documents."""
        return {
            "part": self.label,
            "kind": self.kind,
            "confidence": self.confidence,
            "magnitude": self.magnitude,
            "evidence": list(self.evidence),
            "hurts": {"num_gpus": self.hurts},
            "opened_s": self.opened_s,
            "seen_s": self.seen_s,
            "closed_s": self.closed_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """What one round did to the cases.

    Attributes:
        cases: Open ones, the surest first.
        opened: Those that are new.
        closed: Those that are over.
        num_left_out: Findings beyond what is followed at once.
    """

    cases: tuple[Case, ...]
    opened: tuple[Case, ...] = ()
    closed: tuple[Case, ...] = ()
    num_left_out: int = 0


def follow_cases(
    before: Sequence[Case],
    found: Iterable[Case],
    now_s: float,
    *,
    may_close: bool,
    explained: Collection[PartId] = (),
) -> CaseChange:
    """Return the cases after one more round.

    Args:
        before: Those that were open.
        found: What was found now, as cases that begin now.
        now_s: The time.
        may_close: Whether all was seen: what is not seen is not over.
        explained: Parts whose trouble is part of another that was found: theirs may close.
    """
    known = {case.key: case for case in before}
    # Both directions of a cable are one part: the surer speaks for both.
    now = {case.key: case for case in sorted(found, key=lambda one: one.confidence)}
    room = max(0, MAX_OPEN - len(known))
    fresh = [case for key, case in now.items() if key not in known]
    opened = tuple(sorted(fresh, key=lambda one: -one.confidence)[:room])
    going, closed = [*opened], []
    for key, case in known.items():
        if key in now:
            going.append(replace(now[key], opened_s=case.opened_s))
        elif not (may_close or case.part in explained):
            going.append(case)
        elif case.num_missed + 1 >= MISSES_TO_CLOSE:
            closed.append(replace(case, closed_s=now_s))
        else:
            going.append(replace(case, num_missed=case.num_missed + 1))
    going.sort(key=lambda one: (-one.confidence, one.opened_s, one.label))
    return CaseChange(
        cases=tuple(going),
        opened=opened,
        closed=tuple(closed),
        num_left_out=len(fresh) - len(opened),
    )


def write_cases(store: ObservationStore, change: CaseChange) -> None:
    """Write what one round did, all of it or nothing.

    Raises:
        OutputError: the store cannot be written.
    """
    with store.changing() as file:
        file.executemany(
            "UPDATE finding SET seen_us = ?4, closed_us = ?5, missed = ?6, body = ?7 "
            "WHERE part = ?1 AND kind = ?2 AND closed_us IS NULL AND opened_us = ?3",
            [_row(case) for case in change.closed],
        )
        file.executemany(
            "INSERT INTO finding (part, kind, opened_us, seen_us, closed_us, missed, body) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (part, kind) WHERE closed_us IS NULL "
            "DO UPDATE SET seen_us = ?4, missed = ?6, body = ?7",
            [_row(case) for case in change.cases],
        )


def open_cases(store: ObservationStore) -> tuple[Case, ...]:
    """Return the cases that are open, the surest first."""
    return tuple(
        sorted(_read(store, "WHERE closed_us IS NULL", ()), key=lambda one: -one.confidence)
    )


def case_history(store: ObservationStore, start_s: float) -> tuple[Case, ...]:
    """Return the cases that were open at *start_s* or later, in the order they were opened."""
    since = (round(start_s * MICRO),)
    return tuple(_read(store, "WHERE closed_us IS NULL OR closed_us >= ?", since))


def cases_in(path: Path, *, start_s: float) -> tuple[Case, ...]:
    """Return the same of a store that another process may be writing to; nothing is changed.

    Raises:
        OutputError: there is no such store, it is none, or a later netloom wrote it.
    """
    if not path.is_file():
        raise OutputError(
            file=str(path),
            what="there is no such store",
            remedy="name the one that 'netloom watch' writes",
        )
    condition = "WHERE closed_us IS NULL OR closed_us >= ?"
    with store_errors(path):
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(file):
            (version,) = file.execute("PRAGMA user_version").fetchone()
            if version == NO_FINDINGS:
                return ()
            check_version(path, version)
            return tuple(_cases(file, condition, (round(start_s * MICRO),)))


def _row(case: Case) -> tuple[object, ...]:
    body = {
        "part": case.label[:200],
        "confidence": case.confidence,
        "magnitude": case.magnitude,
        "evidence": [text[:400] for text in case.evidence[:8]],
        "hurts": case.hurts,
    }
    closed_us = None if case.closed_s is None else round(case.closed_s * MICRO)
    times = round(case.opened_s * MICRO), round(case.seen_s * MICRO), closed_us
    return str(case.part)[:200], case.kind, *times, case.num_missed, json.dumps(body)


def _read(store: ObservationStore, condition: str, values: tuple[object, ...]) -> list[Case]:
    with store_errors(store.path):
        return _cases(store.connection, condition, values)


def _cases(file: sqlite3.Connection, condition: str, values: tuple[object, ...]) -> list[Case]:
    query = (
        "SELECT kind, opened_us, seen_us, closed_us, missed, body FROM finding "  # noqa: S608
        f"{condition} ORDER BY opened_us, id"
    )
    return [_case(*row) for row in file.execute(query, values).fetchall()]


def _case(
    kind: str, opened_us: int, seen_us: int, closed_us: int | None, missed: int, body: str
) -> Case:
    said = json.loads(body)
    return Case(
        part=PartId.parse(said["part"]),
        label=said["part"],
        kind=kind,
        confidence=said["confidence"],
        magnitude=said["magnitude"],
        evidence=tuple(said["evidence"]),
        hurts=said["hurts"],
        opened_s=opened_us / MICRO,
        seen_s=seen_us / MICRO,
        num_missed=missed,
        closed_s=None if closed_us is None else closed_us / MICRO,
    )
