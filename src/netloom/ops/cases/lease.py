"""Which of several watches leads: a lease with a number that every write of the leader shows.

The number grows with each change of leader. A leader that was stopped for a while and goes on
shows an old number, and its transaction is refused: nothing is written by two at a time. Times
are those of the database, so clocks of the watches do not matter.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import OutputError
from netloom.ops.observe.case_audit import AuditEntry, add_audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.observe.case_tables import CaseTables, SqlConnection

__all__ = [
    "CaseRecords",
    "LeaderTables",
    "Lease",
    "LeaseLostError",
    "RecordsUnreachableError",
    "release",
    "take",
]

NAME: Final = "watch"
# Microseconds since 1970 by the clock of PostgreSQL.
_NOW: Final = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"


class LeaseLostError(OutputError):
    """Another watch leads; nothing was written."""


class RecordsUnreachableError(OutputError):
    """The database of cases does not answer; it may again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecords:
    """Where cases are, and whether this watch may write them.

    Attributes:
        tables: The tables; writing is refused where another watch leads.
        leads: Whether this one does.
        fabric: What the network is called.
    """

    tables: CaseTables
    leads: Callable[[], bool] = lambda: True
    fabric: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write, until it is taken over.

    Attributes:
        holder: Who has it.
        token: Its number; a later leader has a higher one.
        is_new: Whether it was just taken over.
    """

    holder: str
    token: int
    is_new: bool = False


def take(store: CaseTables, holder: str, *, hold_s: float) -> Lease | None:
    """Take the lease, or hold it for longer; None while another watch has it.

    Args:
        store: The database.
        holder: Who asks: one process.
        hold_s: For how long from now.

    Raises:
        OutputError: the database does not answer.
    """
    hold_us = round(hold_s * 1e6)
    with store.changing() as file:
        rows = file.execute(
            "SELECT holder, token FROM lease WHERE name = ? FOR UPDATE", (NAME,)
        ).fetchall()
        if rows and rows[0][0] == holder:
            file.execute(f"UPDATE lease SET until_us = {_NOW} + ? WHERE name = ?", (hold_us, NAME))  # noqa: S608  (ours)
            return Lease(holder=holder, token=rows[0][1])
        taken = file.execute(
            f"INSERT INTO lease (name, holder, token, until_us) VALUES (?, ?, 1, {_NOW} + ?) "  # noqa: S608
            "ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = lease.token + 1, "
            f"until_us = excluded.until_us WHERE lease.until_us < {_NOW} RETURNING token",
            (NAME, holder, hold_us),
        ).fetchall()
        if not taken:
            return None
        ((now_us,),) = file.execute(f"SELECT {_NOW}").fetchall()
        line = AuditEntry(
            time_s=now_us / 1e6, who=holder, login=holder, act="lead", text="leads from now on"
        )
        add_audit(file, line)
        return Lease(holder=holder, token=taken[0][0], is_new=True)


def release(store: CaseTables, lease: Lease) -> None:
    """Let another watch lead at once; nothing happens where one does already."""
    with store.changing() as file:
        file.execute(
            "UPDATE lease SET until_us = 0, holder = '' "
            "WHERE name = ? AND holder = ? AND token = ?",
            (NAME, lease.holder, lease.token),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderTables:
    """Tables that only the leader writes to.

    Attributes:
        store: The tables.
        lease: Gives the lease that is held; None while it is not.
    """

    store: CaseTables
    lease: Callable[[], Lease | None]

    @contextmanager
    def reading(self) -> Iterator[SqlConnection]:
        """Give the database to read from, whether it leads or not."""
        with self.store.reading() as file:
            yield file

    @contextmanager
    def changing(self) -> Iterator[SqlConnection]:
        """Give it in a transaction; the lease is checked in it, and cannot go before its end.

        Raises:
            LeaseLostError: another watch leads; nothing was written.
            OutputError: the database does not answer; nothing was.
        """
        lease = self.lease()
        with self.store.changing() as file:
            rows = file.execute(
                "SELECT holder, token FROM lease WHERE name = ? FOR UPDATE", (NAME,)
            ).fetchall()
            if lease is None or rows != [(lease.holder, lease.token)]:
                raise LeaseLostError(
                    what="another watch leads, so nothing is written here",
                    remedy="it takes over again when that one ends",
                )
            yield file
