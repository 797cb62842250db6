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

from netloom.errors import OutputError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.observe.case_audit import WATCH, Actor, AuditEntry, add_audit
from netloom.ops.observe.store import MICRO
from netloom.ops.observe.store_file import NO_FINDINGS, check_version, store_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from netloom.ops.observe.case_tables import CaseTables, SqlConnection

__all__ = [
    "Case",
    "CaseChange",
    "case_history",
    "case_line",
    "case_numbered",
    "cases_in",
    "follow_cases",
    "open_cases",
    "write_cases",
]

MISSES_TO_CLOSE: Final = 3  # looks in a row without it: one that misses it does not close it
MAX_OPEN: Final = 1000
_UPDATE: Final = (
    "UPDATE finding SET seen_us = ?, closed_us = ?, missed = ?, body = ? "
    "WHERE id = ? AND closed_us IS NULL"
)


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
        number: By which people name it; 0 before it is stored.
        planned: The maintenance that it falls into: who, and why; empty outside of any.
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
    number: int = 0
    planned: str = ""

    @property
    def key(self) -> tuple[PartId, str]:
        """What tells it from other open ones: the part, and the kind."""
        return self.part, self.kind

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/watch.md documents."""
        return {
            "case": self.number,
            "part": self.label,
            "kind": self.kind,
            "confidence": self.confidence,
            "magnitude": self.magnitude,
            "evidence": list(self.evidence),
            "hurts": {"num_gpus": self.hurts},
            "opened_s": self.opened_s,
            "seen_s": self.seen_s,
            "closed_s": self.closed_s,
            "planned": self.planned,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """What one round did to the cases.

    Attributes:
        cases: Open ones, the surest first.
        opened: Those that are new.
        closed: Those that are over.
        num_left_out: Findings beyond what is followed at once.
        unplanned: Those that maintenance explained until now, and no more.
    """

    cases: tuple[Case, ...]
    opened: tuple[Case, ...] = ()
    closed: tuple[Case, ...] = ()
    num_left_out: int = 0
    unplanned: tuple[Case, ...] = ()


def follow_cases(
    before: Sequence[Case],
    found: Iterable[Case],
    now_s: float,
    *,
    may_close: bool,
    explained: Collection[PartId] = (),
    worse: Mapping[str, str] | None = None,
) -> CaseChange:
    """Return the cases after one more round.

    Args:
        before: Those that were open.
        found: What was found now, as cases that begin now.
        now_s: The time.
        may_close: Whether all was seen: what is not seen is not over.
        explained: Parts whose trouble is part of another that was found: theirs may close.
        worse: Kinds that come and go in turn with a worse one: both are one case, of the worse.
    """
    known = {case.key: case for case in before}
    # Both directions of a cable are one part: the surer speaks for both.
    now = {case.key: case for case in sorted(found, key=lambda one: one.confidence)}
    now = _as_worse(known, now, worse or {})
    over = {
        (part, kind)
        for part, kind in known
        if worse and kind in worse and (part, worse[kind]) in now
    }
    room = max(0, MAX_OPEN - len(known))
    fresh = [case for key, case in now.items() if key not in known]
    opened = tuple(sorted(fresh, key=lambda one: -one.confidence)[:room])
    going, closed, unplanned = [*opened], [], []
    for key, case in known.items():
        if key in now:
            going.append(replace(now[key], opened_s=case.opened_s, number=case.number))
            if case.planned and not now[key].planned:
                unplanned.append(going[-1])
        elif key in over:
            closed.append(replace(case, closed_s=now_s))
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
        unplanned=tuple(unplanned),
    )


def _as_worse(
    known: Mapping[tuple[PartId, str], Case],
    now: Mapping[tuple[PartId, str], Case],
    worse: Mapping[str, str],
) -> dict[tuple[PartId, str], Case]:
    """Return what was found, each under the worse kind where that is open or found too."""
    told = dict(now)
    for (part, kind), case in now.items():
        worst = (part, worse.get(kind, kind))
        if worst[1] != kind and (worst in known or worst in now):
            del told[part, kind]
            told.setdefault(worst, replace(case, kind=worst[1]))
    return told


def write_cases(store: CaseTables, change: CaseChange, *, now_s: float | None = None) -> CaseChange:
    """Write what one round did, all of it or nothing, and return it with the numbers of new cases.

    A case that a person closed meanwhile stays closed.

    Args:
        store: Where cases are.
        change: What happened to them.
        now_s: The time; default: when the newest of them was seen.

    Raises:
        OutputError: the store cannot be written.
    """
    all_cases = (*change.cases, *change.closed)
    if not all_cases:
        return change
    time_s = max(one.closed_s or one.seen_s for one in all_cases) if now_s is None else now_s
    with store.changing() as file:
        known = _known(file, all_cases)
        unknown = [one for one in change.cases if not one.number and one.key not in known]
        numbers = known | _insert(file, unknown)
        numbered = _numbered(change, numbers)
        for case in (*numbered.closed, *numbered.cases):
            file.execute(_UPDATE, (*_row(case)[3:], case.number))
        fresh = [one for one in numbered.opened if one.key not in known]
        for act, cases in (
            ("open", [one for one in fresh if not one.planned]),
            ("planned", [one for one in fresh if one.planned]),
            ("open", numbered.unplanned),
            ("close", numbered.closed),
        ):
            for case in cases:
                if case.number:
                    add_audit(file, watch_line(act, case, time_s))
    return numbered


def watch_line(act: str, case: Case, time_s: float) -> AuditEntry:
    """Return the line of the audit about what a watch did to a case."""
    by = Actor(name=WATCH, login=WATCH)
    return case_line(act, case, by, time_s, text="; ".join(case.evidence))


def case_line(act: str, case: Case, by: Actor, time_s: float, *, text: str = "") -> AuditEntry:
    """Return the line of the audit about an act on a case."""
    return AuditEntry(
        time_s=time_s,
        who=by.name,
        login=by.login,
        act=act,
        case=case.number,
        part=str(case.part),
        text=text,
        detail=case.to_json(),
    )


def _known(file: SqlConnection, cases: Iterable[Case]) -> dict[tuple[PartId, str], int]:
    """Return the numbers of the cases that are open in the store and have none here."""
    if all(one.number for one in cases):
        return {}
    rows = file.execute("SELECT part, kind, id FROM finding WHERE closed_us IS NULL").fetchall()
    return {(PartId.parse(part), kind): number for part, kind, number in rows}


def _insert(file: SqlConnection, opened: Sequence[Case]) -> dict[tuple[PartId, str], int]:
    """Write new cases and return their numbers, none of which was ever another case's."""
    if not opened:
        return {}
    ((last,),) = file.execute(
        "SELECT MAX(n) FROM (SELECT MAX(id) AS n FROM finding UNION ALL "
        "SELECT MAX(case_id) AS n FROM audit) AS numbers"
    ).fetchall()
    numbers = {}
    for number, case in enumerate(opened, start=(last or 0) + 1):
        file.execute(
            "INSERT INTO finding (id, part, kind, opened_us, seen_us, closed_us, missed, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, *_row(case)),
        )
        numbers[case.key] = number
    return numbers


def _numbered(change: CaseChange, numbers: Mapping[tuple[PartId, str], int]) -> CaseChange:
    def known(cases: Iterable[Case]) -> tuple[Case, ...]:
        return tuple(
            one if one.number else replace(one, number=numbers.get(one.key, 0)) for one in cases
        )

    return replace(
        change,
        cases=known(change.cases),
        opened=known(change.opened),
        closed=known(change.closed),
        unplanned=known(change.unplanned),
    )


def open_cases(store: CaseTables) -> tuple[Case, ...]:
    """Return the cases that are open, the surest first."""
    return tuple(
        sorted(_read(store, "WHERE closed_us IS NULL", ()), key=lambda one: -one.confidence)
    )


def case_history(store: CaseTables, start_s: float) -> tuple[Case, ...]:
    """Return the cases that were open at *start_s* or later, in the order they were opened."""
    since = (round(start_s * MICRO),)
    return tuple(_read(store, "WHERE closed_us IS NULL OR closed_us >= ?", since))


def case_numbered(store: CaseTables, number: int) -> Case:
    """Return the case of that number.

    Raises:
        SpecError: there is none.
    """
    # Databases number their rows with 63 bits.
    found = _read(store, "WHERE id = ?", (number,)) if 0 < number < 1 << 63 else ()
    if not found:
        raise SpecError(
            what=f"there is no case {number}", remedy="'netloom cases list' shows their numbers"
        )
    return found[0]


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
        "planned": case.planned[:400],
    }
    closed_us = None if case.closed_s is None else round(case.closed_s * MICRO)
    times = round(case.opened_s * MICRO), round(case.seen_s * MICRO), closed_us
    return str(case.part)[:200], case.kind, *times, case.num_missed, json.dumps(body)


def _read(store: CaseTables, condition: str, values: tuple[object, ...]) -> list[Case]:
    with store.reading() as file:
        return _cases(file, condition, values)


def _cases(file: SqlConnection, condition: str, values: tuple[object, ...]) -> list[Case]:
    query = (
        "SELECT id, kind, opened_us, seen_us, closed_us, missed, body FROM finding "  # noqa: S608
        f"{condition} ORDER BY opened_us, id"
    )
    return [_case(*row) for row in file.execute(query, values).fetchall()]


def _case(  # noqa: PLR0913, PLR0917  (one column each)
    number: int,
    kind: str,
    opened_us: int,
    seen_us: int,
    closed_us: int | None,
    missed: int,
    body: str,
) -> Case:
    said = json.loads(body)
    return Case(
        number=number,
        planned=said.get("planned", ""),
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
