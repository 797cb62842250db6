"""The audit: every act on a case with the name of who did it; lines are added, never changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from netloom.ops.observe.case_tables import CaseTables, SqlConnection

__all__ = [
    "WATCH",
    "Actor",
    "AuditEntry",
    "add_audit",
    "audit_lines",
    "audit_of_case",
    "checked_name",
    "checked_words",
]

MICRO: Final = 1_000_000
WATCH: Final = "netloom"  # who opens and closes cases where no person does
MAX_NAME: Final = 100
MAX_WORDS: Final = 2000
_COLUMNS: Final = "id, time_us, who, login, act, case_id, part, text, detail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts.

    Attributes:
        name: As given, or the login.
        login: Under which the command ran, with the machine: a name is a claim, this is not.
    """

    name: str
    login: str

    def __post_init__(self) -> None:
        """Refuse a name that a line of the audit could not show."""
        checked_name(self.name, option="--by")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line.

    Attributes:
        time_s: When, seconds since 1970.
        who: The name.
        login: Login and machine of the command.
        act: ``open``, ``planned``, ``close``, ``acknowledge``, ``assign``, ``comment``,
            ``maintain``, ``silence``, ``lead``, ``ticket-refused`` and others; an act outside of
            the store has a line before it, and one after it that ends in ``-done`` or ``-failed``.
        case: Its number; None where it is about none.
        part: About which part; empty for none.
        text: In words.
        detail: The case as it was.
        number: Of the line; 0 before it is written.
    """

    time_s: float
    who: str
    login: str
    act: str
    case: int | None = None
    part: str = ""
    text: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    number: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            "line": self.number,
            "time_s": self.time_s,
            "by": self.who,
            "login": self.login,
            "act": self.act,
            "case": self.case,
            "part": self.part,
            "text": self.text,
        }


def add_audit(file: SqlConnection, entry: AuditEntry) -> int:
    """Write a line within a transaction, and return its number."""
    rows = file.execute(
        "INSERT INTO audit (time_us, who, login, act, case_id, part, text, detail) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            round(entry.time_s * MICRO),
            entry.who,
            printable(entry.login, 200),
            entry.act,
            entry.case,
            printable(entry.part, 200),
            shown(entry.text),
            json.dumps(entry.detail),
        ),
    ).fetchall()
    return int(rows[0][0])


def checked_name(name: str, *, option: str) -> str:
    """Return the name of a person.

    Raises:
        SpecError: a line of the audit could not show it.
    """
    if not name.strip() or name != printable(name, MAX_NAME):
        raise SpecError(
            option=option,
            what=f"a name is 1 to {MAX_NAME} printable characters",
            remedy="write who it is, such as mona",
        )
    return name


def checked_words(text: str) -> str:
    """Return what a person writes.

    Raises:
        SpecError: it is longer than what is kept; none of it is cut off silently.
    """
    if len(" ".join(text.split())) > MAX_WORDS:
        raise SpecError(
            what=f"{len(text):,} characters, and {MAX_WORDS:,} are kept",
            remedy="say it in fewer, or where the rest is",
        )
    return text


def shown(text: str) -> str:
    """Return words as they are kept: at most some lines, no characters that move a cursor."""
    return printable(" ".join(text[: 2 * MAX_WORDS].split()), MAX_WORDS)


def audit_lines(
    store: CaseTables, *, after: int = 0, start_s: float = 0.0, limit: int = 10_000
) -> tuple[AuditEntry, ...]:
    """Return the lines behind number *after* and from *start_s* on, oldest first."""
    query = (
        f"SELECT {_COLUMNS} FROM audit WHERE id > ? AND time_us >= ? "  # noqa: S608  (ours)
        "ORDER BY id LIMIT ?"
    )
    with store.reading() as file:
        rows = file.execute(query, (after, round(start_s * MICRO), limit)).fetchall()
    return tuple(_entry(*row) for row in rows)


def audit_of_case(store: CaseTables, case: int) -> tuple[AuditEntry, ...]:
    """Return the lines about a case, oldest first."""
    query = f"SELECT {_COLUMNS} FROM audit WHERE case_id = ? ORDER BY id"  # noqa: S608  (ours)
    with store.reading() as file:
        rows = file.execute(query, (case,)).fetchall()
    return tuple(_entry(*row) for row in rows)


def _entry(  # noqa: PLR0913, PLR0917  (one column each)
    number: int,
    time_us: int,
    who: str,
    login: str,
    act: str,
    case: int | None,
    part: str,
    text: str,
    detail: str,
) -> AuditEntry:
    return AuditEntry(
        number=number,
        time_s=time_us / MICRO,
        who=who,
        login=login,
        act=act,
        case=case,
        part=part,
        text=text,
        detail=json.loads(detail),
    )
