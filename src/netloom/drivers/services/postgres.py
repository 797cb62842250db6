"""Cases in PostgreSQL, by psycopg (``pip install netloom[postgres]``).

All tables are in the schema ``netloom`` of the database that the URL names. The password is never
in the URL: libpq takes it from PGPASSFILE or PGPASSWORD.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from netloom.errors import SpecError
from netloom.ops.cases.lease import RecordsUnreachableError
from netloom.ops.observe.case_tables import POSTGRES_TABLES
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

__all__ = ["PostgresTables", "is_postgres"]

SCHEMES: Final = ("postgresql://", "postgres://")
CONNECT_S: Final = 4
STATEMENT_MS: Final = 5000
LOCK: Final = 7_310_578_653_295_274  # one writer at a time: numbers come in the order of writing
_SAFE: Final = frozenset({"", "localhost", "127.0.0.1", "::1"})


def is_postgres(store: str) -> bool:
    """Return whether a store is named by the URL of a database."""
    return store.startswith(SCHEMES)


class PostgresTables:
    """The tables, reached by one connection that is made again where it broke."""

    def __init__(self, url: str) -> None:
        """Connect, and make the tables where there are none.

        Raises:
            SpecError: the URL has a password or is none, or psycopg is not installed.
            RecordsUnreachableError: the database does not answer.
        """
        self._url = url
        self._options = _checked(url)
        self._psycopg, self._connect = _psycopg()
        self._connection: Any = None
        with self.changing() as file:
            file.execute("CREATE SCHEMA IF NOT EXISTS netloom")
            for statement in POSTGRES_TABLES.split(";"):
                if statement.strip():
                    file.execute(statement)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(self._psycopg.Error):
                self._connection.close()
        self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[_Statements]:
        """Give the database to read from.

        Raises:
            RecordsUnreachableError: it does not answer.
        """
        with self._errors():
            yield _Statements(self._connected())

    @contextmanager
    def changing(self) -> Iterator[_Statements]:
        """Give it in a transaction; no other netloom writes meanwhile.

        Raises:
            RecordsUnreachableError: it does not answer; nothing was written.
        """
        with self._errors():
            connection = self._connected()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                yield _Statements(connection)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            self.close()
            raise RecordsUnreachableError(
                what=f"PostgreSQL does not answer ({printable(str(error).strip(), 300)})",
                remedy="look whether it runs, and whether this user may write to it",
            ) from error

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_S,
                application_name="netloom",
                options=(
                    f"-c search_path=netloom -c statement_timeout={STATEMENT_MS} "
                    f"-c idle_in_transaction_session_timeout={STATEMENT_MS} "
                    "-c synchronous_commit=on"
                ),
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
                tcp_user_timeout=10_000,
                **self._options,
            )
        return self._connection


class _Statements:
    """Statements as SQLite has them: ``?`` for values."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Any:
        """Run one."""
        return self._connection.execute(query.replace("?", "%s"), tuple(values) or None)


def _checked(url: str) -> dict[str, str]:
    """Return what a connection needs beside the URL; other machines must prove who they are."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (raises where it is none)
        given = parse_qs(parts.query)
    except ValueError:
        raise SpecError(
            option="--store",
            what="it is no URL of a database",
            remedy="write such as postgresql://netloom@db1/netloom",
        ) from None
    if parts.password is not None or "password" in given:
        raise SpecError(
            option="--store",
            what="the URL has a password, which process lists and logs would show",
            remedy="leave it out; put it into the file that PGPASSFILE names (mode 600)",
        )
    host = given.get("host", [parts.hostname or ""])[0]
    if host in _SAFE or host.startswith(("/", "%2F", "%2f")) or "sslmode" in given:
        return {}
    return {"sslmode": "verify-full", "sslrootcert": "system"}


def _psycopg() -> tuple[ModuleType, Callable[..., Any]]:
    try:
        import psycopg  # noqa: PLC0415  (an extra)

        from netloom.drivers.services.postgres_connection import TimedConnection  # noqa: PLC0415
    except ImportError as error:
        raise SpecError(
            option="--store",
            what="PostgreSQL needs psycopg, which is not installed",
            remedy="pip install 'netloom[postgres]'",
        ) from error
    return psycopg, TimedConnection.connect
