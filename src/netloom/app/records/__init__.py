"""What do people do about the cases of a watch?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.app.lazy import exports

if TYPE_CHECKING:
    from netloom.app.records.desk import (
        ack,
        assign,
        audit,
        backup,
        close,
        comment,
        list,  # noqa: A004  (an act of the command)
        maintain,
        show,
        silence,
    )
    from netloom.app.records.stores import is_postgres, open_tables, secret_at, service_at

__all__ = [
    "ack",
    "assign",
    "audit",
    "backup",
    "close",
    "comment",
    "is_postgres",
    "list",
    "maintain",
    "open_tables",
    "secret_at",
    "service_at",
    "show",
    "silence",
]

__getattr__ = exports(
    __name__,
    {
        "netloom.app.records.desk": (
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
        ),
        "netloom.app.records.stores": ("is_postgres", "open_tables", "secret_at", "service_at"),
    },
)
