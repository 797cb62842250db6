"""A connection to PostgreSQL that waits for no answer longer than a watch can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

if TYPE_CHECKING:
    from psycopg.abc import PQGen

__all__ = ["TimedConnection"]

ANSWER_S: Final = 6.0  # the server itself ends a statement after 5
_Value = TypeVar("_Value")


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """Gives up a server that hangs: libpq alone would wait as long as the machine lives."""

    def wait(
        self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None
    ) -> _Value:
        """Wait for an answer, to the deadline.

        Raises:
            psycopg.OperationalError: there was none; the connection is closed.
        """
        try:
            return super().wait(gen, interval, ANSWER_S if timeout is None else timeout)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001  (it has no other name)
            self.pgconn.finish()
            message = f"no answer within {ANSWER_S:g} s"
            raise psycopg.OperationalError(message) from error
