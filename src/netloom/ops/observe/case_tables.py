"""The tables of cases, of what people did about them, and of who leads: SQLite's and PostgreSQL's.

The same statements run on both, so that two watches may share a PostgreSQL and one watch needs
nothing but its file. Times are whole microseconds since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

__all__ = ["POSTGRES_TABLES", "SQLITE_TABLES", "CaseTables", "SqlConnection"]

_RECORDS: Final = """
CREATE TABLE IF NOT EXISTS case_state (case_id BIGINT PRIMARY KEY,
    acknowledged_by TEXT NOT NULL DEFAULT '', acknowledged_us BIGINT,
    assignee TEXT NOT NULL DEFAULT '', alerted_us BIGINT);
CREATE TABLE IF NOT EXISTS audit (id {id}, time_us BIGINT NOT NULL, who TEXT NOT NULL,
    login TEXT NOT NULL, act TEXT NOT NULL, case_id BIGINT, part TEXT NOT NULL,
    text TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS audit_case ON audit (case_id);
CREATE TABLE IF NOT EXISTS maintenance (id {id}, part TEXT NOT NULL, start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL, drained BIGINT NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS hook (name TEXT PRIMARY KEY, last_id BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
# Numbers of cases and of audit lines are given once: cursors and tickets name them.
SQLITE_TABLES: Final = _RECORDS.format(id="INTEGER PRIMARY KEY AUTOINCREMENT")
POSTGRES_TABLES: Final = """
CREATE TABLE IF NOT EXISTS finding (id BIGINT PRIMARY KEY, part TEXT NOT NULL,
    kind TEXT NOT NULL, opened_us BIGINT NOT NULL, seen_us BIGINT NOT NULL, closed_us BIGINT,
    missed BIGINT NOT NULL, body TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS finding_open ON finding (part, kind) WHERE closed_us IS NULL;
CREATE INDEX IF NOT EXISTS finding_closed ON finding (closed_us);
CREATE TABLE IF NOT EXISTS lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL,
    token BIGINT NOT NULL, until_us BIGINT NOT NULL);
""" + _RECORDS.format(id="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")


class SqlConnection(Protocol):
    """An open database; ``?`` stands for a value."""

    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Any:
        """Run a statement; what it gives has ``fetchall`` and ``rowcount``."""


class CaseTables(Protocol):
    """Where cases and their records are."""

    def reading(self) -> AbstractContextManager[SqlConnection]:
        """Give the database to read from.

        Raises:
            OutputError: it cannot be read.
        """

    def changing(self) -> AbstractContextManager[SqlConnection]:
        """Give the database in a transaction that is written when the block ends well.

        No other writes meanwhile, so numbers given inside it come in the order of writing.

        Raises:
            OutputError: it cannot be written; nothing was.
        """
