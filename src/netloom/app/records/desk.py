"""What an on-call engineer does about cases, each act with a name on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from netloom.app.records.stores import actor, is_postgres, open_tables, path_of, service_at
from netloom.drivers.clock import WallClock
from netloom.drivers.services.alertmanager import post_silence
from netloom.errors import NetloomError, SpecError
from netloom.fabric.part_id import PartId
from netloom.ops.cases import people
from netloom.ops.cases.alerts import ALERT, silence_of
from netloom.ops.cases.file import back_up
from netloom.ops.cases.maintenance import MaintenanceWindow, all_windows, declare, end_window
from netloom.ops.cases.remedies import remedy_of, severity_of
from netloom.ops.observe.case_audit import (
    AuditEntry,
    add_audit,
    audit_lines,
    audit_of_case,
)
from netloom.ops.observe.cases import case_history, case_line, case_numbered
from netloom.units import TIME, parse_quantity

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable
    from pathlib import Path

    from netloom.ops.cases.people import CaseState
    from netloom.ops.observe.case_audit import Actor
    from netloom.ops.observe.case_tables import CaseTables
    from netloom.ops.observe.cases import Case

__all__ = [
    "AuditTrail",
    "CaseBackup",
    "CaseList",
    "CaseStory",
    "SilenceReport",
    "ack",
    "assign",
    "audit",
    "backup",
    "close",
    "comment",
    "list",
    "maintain",
    "show",
    "silence",
]

DAY_S: Final = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseList:
    """Cases with what people did about them, and maintenance that is not over."""

    cases: tuple[tuple[Case, CaseState], ...]
    windows: tuple[MaintenanceWindow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            "cases": [_told(case, state) for case, state in self.cases],
            "maintenance": [one.to_json() for one in self.windows],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStory:
    """A case and every line of the audit about it."""

    case: Case
    state: CaseState
    lines: tuple[AuditEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {
            **_told(self.case, self.state),
            "audit": [one.to_json() for one in self.lines],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrail:
    """Lines of the audit, oldest first."""

    lines: tuple[AuditEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {"audit": [one.to_json() for one in self.lines]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceReport:
    """A silence that Alertmanager keeps."""

    id: str
    labels: dict[str, str]
    end_s: float
    by: str

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {"silence": self.id, "labels": self.labels, "to_s": self.end_s, "by": self.by}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseBackup:
    """A copy of a store."""

    file: str
    num_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/alerts.md documents."""
        return {"file": self.file, "num_bytes": self.num_bytes}


def _told(case: Case, state: CaseState) -> dict[str, Any]:
    return {
        **case.to_json(),
        "severity": severity_of(case.kind),
        "remedy": remedy_of(case.kind),
        **state.to_json(),
    }


def list(store: str | Path, *, since: str = "", now_s: float | None = None) -> CaseList:  # noqa: A001
    """Return the cases that are open, and with *since* those that were.

    >>> import netloom as nl
    >>> nl.cases.list("watch.db").cases  # doctest: +SKIP

    Args:
        store: The file of a watch, or the URL of a PostgreSQL.
        since: Also cases that were open so long ago or later: ``1d``, or a time (UTC).
        now_s: The time; default: this machine's.

    Raises:
        SpecError: a time or the store's name is wrong.
        OutputError: the store cannot be read.
    """
    time_s = _now_s(now_s)
    start_s = time_since(since, time_s) if since else float("inf")
    with open_tables(store) as tables:
        state = people.states(tables)
        cases = case_history(tables, min(start_s, 1e11))
        windows = tuple(one for one in all_windows(tables) if one.end_s > time_s)
    ordered = sorted(cases, key=lambda one: (one.closed_s is not None, -one.confidence))
    pairs = tuple((one, state.get(one.number, people.NO_STATE)) for one in ordered)
    return CaseList(cases=pairs, windows=windows)


def show(store: str | Path, case: int) -> CaseStory:
    """Return a case with all that was done about it.

    >>> import netloom as nl
    >>> nl.cases.show("watch.db", 17).lines  # doctest: +SKIP


    Raises:
        SpecError: there is no such case.
        OutputError: the store cannot be read.
    """
    with open_tables(store) as tables:
        return CaseStory(
            case=case_numbered(tables, case),
            state=people.states(tables).get(case, people.NO_STATE),
            lines=audit_of_case(tables, case),
        )


def ack(store: str | Path, case: int, *, by: str = "", text: str = "") -> CaseStory:
    """Say that a person has seen an open case, and return it; *by*: default the login.

    >>> import netloom as nl
    >>> nl.cases.ack("watch.db", 17, by="mona").state.acknowledged_by  # doctest: +SKIP
    """
    return _done(
        store, case, by, lambda at, who, s: people.acknowledge(at, case, who, s, text=text)
    )


def assign(store: str | Path, case: int, to: str, *, by: str = "") -> CaseStory:
    """Give an open case to a person, and return it.

    >>> import netloom as nl
    >>> nl.cases.assign("watch.db", 17, "ravi")  # doctest: +SKIP
    """
    return _done(store, case, by, lambda at, who, s: people.assign(at, case, to, who, s))


def comment(store: str | Path, case: int, text: str, *, by: str = "") -> CaseStory:
    """Add words to a case, and return it.

    >>> import netloom as nl
    >>> nl.cases.comment("watch.db", 17, "optic ordered")  # doctest: +SKIP
    """
    return _done(store, case, by, lambda at, who, s: people.comment(at, case, text, who, s))


def close(store: str | Path, case: int, *, by: str = "", text: str = "") -> CaseStory:
    """Hold an open case to be over, and return it; where it is found again, that is another.

    >>> import netloom as nl
    >>> nl.cases.close("watch.db", 17)  # doctest: +SKIP
    """
    return _done(store, case, by, lambda at, who, s: people.close_case(at, case, who, s, text=text))


def _done(
    store: str | Path,
    case: int,
    by: str,
    act: Callable[[CaseTables, Actor, float], AuditEntry],
) -> CaseStory:
    who = actor(by)
    with open_tables(store) as tables:
        act(tables, who, _now_s(None))
    return show(store, case)


def maintain(  # noqa: PLR0913  (one option of the command each)
    store: str | Path,
    part: str = "",
    *,
    start: str = "now",
    end: str = "",
    by: str = "",
    why: str = "",
    drained: bool = False,
    stop: int | None = None,
    now_s: float | None = None,
) -> MaintenanceWindow:
    """Declare that people work on a part: its cases are recorded, and alert no one.

    >>> import netloom as nl
    >>> nl.cases.maintain("watch.db", "leaf:3", end="+2h", why="new fan")  # doctest: +SKIP

    Args:
        store: The file of a watch, or the URL of a PostgreSQL.
        part: Such as ``leaf:3``, ``cable:40`` or ``node:2``.
        start: A time: ``2027-01-31T22:00`` (UTC), ``+30m`` from now, or ``now``.
        end: Likewise.
        by: Who; default: the login.
        why: In words.
        drained: Traffic was taken off it: sessions that are down there are no findings.
        stop: End the window of this number now, instead.
        now_s: The time; default: this machine's.

    Raises:
        SpecError: the part, a time or a number is wrong.
        OutputError: the store cannot be written.
    """
    time_s, who = _now_s(now_s), actor(by)
    with open_tables(store) as tables:
        if stop is not None:
            return end_window(tables, stop, who, time_s)
        window = MaintenanceWindow(
            part=PartId.parse(part).whole,
            start_s=time_at(start, time_s, option="--from"),
            end_s=time_at(end, time_s, option="--to"),
            by=who.name,
            why=why,
            is_drained=drained,
        )
        return declare(tables, window, who, time_s)


def silence(  # noqa: PLR0913  (one option of the command each)
    store: str | Path,
    case: int,
    *,
    alertmanager: str,
    lasts: str = "2h",
    by: str = "",
    why: str = "",
    token: str = "",
    certificate: Path | None = None,
    now_s: float | None = None,
) -> SilenceReport:
    """Let Alertmanager tell no one of a case for a while; the case stays open here.

    >>> import netloom as nl
    >>> am = "http://am1:9093"
    >>> nl.cases.silence("watch.db", 17, alertmanager=am, why="known").id  # doctest: +SKIP

    Args:
        store: The file of a watch, or the URL of a PostgreSQL.
        case: Its number.
        alertmanager: URL of the Alertmanager.
        lasts: For how long.
        by: Who; default: the login.
        why: In words.
        token: Where its token is: a file of mode 600, or ``env:NAME``.
        certificate: PEM file of the authority that it is certified by.
        now_s: The time; default: this machine's.

    Raises:
        SpecError: there is no such case, or no reason.
        LabError: Alertmanager does not take it.
        OutputError: the store cannot be written; then nothing was silenced.
    """
    if not why.strip():
        raise SpecError(option="--reason", what="no reason", remedy="say why it is silenced")
    time_s, who = _now_s(now_s), actor(by)
    end_s = time_s + parse_quantity(lasts, TIME, where="--for")
    access = service_at("Alertmanager", alertmanager, token, certificate)
    if access is None:
        raise SpecError(option="--alertmanager", what="no URL", remedy="name the Alertmanager")
    with open_tables(store) as tables:
        found = case_numbered(tables, case)
        # Numbers of cases are told apart by fabric; the part tells the reader which it is.
        labels = {"alertname": ALERT, "part": str(found.part), "case": str(found.number)}
        line = case_line("silence", found, who, time_s, text=f"for {lasts}: {why}")
        _write(tables, line)
        asked = silence_of(labels, start_s=time_s, end_s=end_s, by=who.name, why=why)
        try:
            made = post_silence(access, asked)
        except NetloomError as error:
            _write(tables, replace(line, act="silence-failed", text=str(error)))
            raise
        _write(tables, replace(line, act="silence-done", text=made))
    return SilenceReport(id=made, labels=labels, end_s=end_s, by=who.name)


def audit(store: str | Path, *, since: str = "7d", now_s: float | None = None) -> AuditTrail:
    """Return who did what from a time on, oldest first.

    >>> import netloom as nl
    >>> nl.cases.audit("watch.db").lines  # doctest: +SKIP


    Raises:
        SpecError: the time is wrong.
        OutputError: the store cannot be read.
    """
    start_s = time_since(since, _now_s(now_s))
    with open_tables(store) as tables:
        found: builtins.list[AuditEntry] = []
        while more := audit_lines(
            tables, after=found[-1].number if found else 0, start_s=max(0.0, start_s)
        ):
            found += more
    return AuditTrail(lines=tuple(found))


def backup(store: str | Path, to: Path) -> CaseBackup:
    """Copy a watch's file as it is at one moment, while the watch goes on.

    >>> import netloom as nl
    >>> nl.cases.backup("watch.db", Path("/backup/watch.db"))  # doctest: +SKIP


    Raises:
        SpecError: the store is a database, which has tools of its own.
        OutputError: there is no such store, or the copy cannot be written.
    """
    if is_postgres(str(store)):
        raise SpecError(
            option="--store",
            what="a PostgreSQL is copied by its own tools",
            remedy="run 'pg_dump --schema netloom --format custom --file FILE DATABASE'",
        )
    return CaseBackup(file=str(to), num_bytes=back_up(path_of(store), to))


def time_at(text: str, now_s: float, *, option: str) -> float:
    """Return a time: ``now``, ``+2h``, or as ISO 8601 has it, UTC unless it says.

    Raises:
        SpecError: it is none of these.
    """
    if text == "now":
        return now_s
    if text.startswith("+"):
        return now_s + parse_quantity(text[1:], TIME, where=option)
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise SpecError(
            option=option,
            what=f"{text[:60]!r} is no time",
            remedy="write such as 2027-01-31T22:00 (UTC), +2h or now",
        ) from error


def time_since(text: str, now_s: float) -> float:
    """Return the time that a duration, ``1d``, is ago; or a time as :func:`time_at` has it.

    Raises:
        SpecError: it is neither.
    """
    try:
        return max(0.0, now_s - parse_quantity(text, TIME, where="--since"))
    except SpecError:
        return time_at(text, now_s, option="--since")


def _write(tables: CaseTables, line: AuditEntry) -> None:
    with tables.changing() as file:
        add_audit(file, line)


def _now_s(now_s: float | None) -> float:
    return WallClock().now_s() if now_s is None else now_s
