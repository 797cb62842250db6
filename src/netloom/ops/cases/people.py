"""What people do about a case: acknowledge, assign, comment, close; each with a name on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.ops.observe.case_audit import add_audit, checked_name, checked_words, shown
from netloom.ops.observe.cases import Case, case_line, case_numbered
from netloom.ops.observe.store import MICRO

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.ops.observe.case_audit import Actor, AuditEntry
    from netloom.ops.observe.case_tables import CaseTables, SqlConnection

__all__ = ["CaseState", "acknowledge", "assign", "close_case", "comment", "states"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseState:
    """What people have done about a case.

    Attributes:
        acknowledged_by: Who has seen it; empty for none.
        acknowledged_s: When.
        assignee: Whose it is; empty while it has no owner.
        alerted_s: When it first went to Alertmanager; None while it did not.
    """

    acknowledged_by: str = ""
    acknowledged_s: float | None = None
    assignee: str = ""
    alerted_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            "acknowledged_by": self.acknowledged_by,
            "acknowledged_s": self.acknowledged_s,
            "assigned_to": self.assignee,
        }


NO_STATE: Final = CaseState()


def states(store: CaseTables) -> dict[int, CaseState]:
    """Return what people have done about each case that they did anything about."""
    query = "SELECT case_id, acknowledged_by, acknowledged_us, assignee, alerted_us FROM case_state"
    with store.reading() as file:
        rows = file.execute(query).fetchall()
    return {
        number: CaseState(
            acknowledged_by=who,
            acknowledged_s=None if when_us is None else when_us / MICRO,
            assignee=assignee,
            alerted_s=None if alerted_us is None else alerted_us / MICRO,
        )
        for number, who, when_us, assignee, alerted_us in rows
    }


def acknowledge(
    store: CaseTables, number: int, by: Actor, now_s: float, *, text: str = ""
) -> AuditEntry:
    """Say that a person has seen an open case.

    Raises:
        SpecError: there is no such case, or it is closed.
        OutputError: the store cannot be written.
    """

    def change(file: SqlConnection, _: Case) -> None:
        file.execute(
            "INSERT INTO case_state (case_id, acknowledged_by, acknowledged_us) VALUES (?, ?, ?) "
            "ON CONFLICT (case_id) DO UPDATE SET acknowledged_by = excluded.acknowledged_by, "
            "acknowledged_us = excluded.acknowledged_us",
            (number, by.name, round(now_s * MICRO)),
        )

    return _act(store, "acknowledge", number, by, now_s, text=text, change=change)


def assign(store: CaseTables, number: int, to: str, by: Actor, now_s: float) -> AuditEntry:
    """Give an open case to a person; raises as :func:`acknowledge`."""
    owner = checked_name(to, option="TO")

    def change(file: SqlConnection, _: Case) -> None:
        file.execute(
            "INSERT INTO case_state (case_id, assignee) VALUES (?, ?) "
            "ON CONFLICT (case_id) DO UPDATE SET assignee = excluded.assignee",
            (number, owner),
        )

    return _act(store, "assign", number, by, now_s, text=f"to {owner}", change=change)


def comment(store: CaseTables, number: int, text: str, by: Actor, now_s: float) -> AuditEntry:
    """Add words to a case, open or not.

    Raises:
        SpecError: there is no such case, or no words.
        OutputError: the store cannot be written.
    """
    if not text.strip():
        raise SpecError(what="a comment without words", remedy="write some behind the number")
    return _act(store, "comment", number, by, now_s, text=text)


def close_case(
    store: CaseTables, number: int, by: Actor, now_s: float, *, text: str = ""
) -> AuditEntry:
    """Hold an open case to be over; where the next look still finds it, that opens another.

    Raises as :func:`acknowledge`.
    """

    def change(file: SqlConnection, _: Case) -> None:
        file.execute(
            "UPDATE finding SET closed_us = ? WHERE id = ? AND closed_us IS NULL",
            (round(now_s * MICRO), number),
        )

    return _act(store, "close", number, by, now_s, text=text, change=change)


def _act(  # noqa: PLR0913  (who, what, to which case, when)
    store: CaseTables,
    act: str,
    number: int,
    by: Actor,
    now_s: float,
    *,
    text: str,
    change: Callable[[SqlConnection, Case], None] | None = None,
) -> AuditEntry:
    """Write the line and then the act, in one transaction: neither is there without the other."""
    case = case_numbered(store, number)
    with store.changing() as file:
        is_open = file.execute(
            "SELECT 1 FROM finding WHERE id = ? AND closed_us IS NULL", (number,)
        ).fetchall()
        if change is not None and not is_open:
            raise SpecError(
                what=f"case {number} is closed", remedy="comment on it, or act on an open one"
            )
        entry = case_line(act, case, by, now_s, text=shown(checked_words(text)))
        entry = replace(entry, number=add_audit(file, entry))
        if change is not None:
            change(file, case)
    return entry
