"""Cases as tickets: what a webhook is sent, in a form that stays.

Each line of the audit that is about a case and changes it is one delivery. Its key is the same
however often it is sent, so a receiver that keeps the keys it has seen makes one ticket of it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.cases.alerts import iso_time
from netloom.ops.cases.remedies import remedy_of, severity_of
from netloom.ops.observe.case_audit import audit_lines
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.case_audit import AuditEntry
    from netloom.ops.observe.case_tables import CaseTables

__all__ = [
    "TICKET_SCHEMA",
    "delivery_key",
    "move_hook",
    "next_deliveries",
    "signature",
    "ticket_of",
]

VERSION: Final = 1
EVENTS: Final = {
    "open": "opened",
    "acknowledge": "acknowledged",
    "assign": "assigned",
    "comment": "commented",
    "close": "closed",
}
_TEXT: Final = {"type": "string"}
_CASE: Final = {
    "number": {"type": "integer", "minimum": 1},
    "part": _TEXT,
    "kind": _TEXT,
    "severity": {"enum": ["page", "warning"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    "num_gpus_hurt": {"type": "integer", "minimum": 0},
    "evidence": {"type": "array", "items": _TEXT},
    "remedy": _TEXT,
    "opened_at": {"type": "string", "format": "date-time"},
}
_TOP: Final = {
    "version": {"const": VERSION},
    "key": _TEXT,
    "event": {"enum": list(EVENTS.values())},
    "at": {"type": "string", "format": "date-time"},
    "fabric": _TEXT,
    "by": _TEXT,
    "text": _TEXT,
    "case": {
        "type": "object",
        "properties": _CASE,
        "required": list(_CASE),
        "additionalProperties": False,
    },
}
TICKET_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What netloom watch --tickets posts",
    "type": "object",
    "properties": _TOP,
    "required": list(_TOP),
    "additionalProperties": False,
}


def delivery_key(entry: AuditEntry, store_id: str) -> str:
    """Return what is the same each time that this line is sent, and of no other line."""
    return f"{store_id}-{entry.number}"


def ticket_of(entry: AuditEntry, fabric: str, store_id: str) -> bytes:
    """Return the body of a delivery; equal lines give equal bytes."""
    case = entry.detail
    body = {
        "version": VERSION,
        "key": delivery_key(entry, store_id),
        "event": EVENTS[entry.act],
        "at": iso_time(entry.time_s),
        "fabric": printable(fabric, 200),
        "by": entry.who,
        "text": entry.text,
        "case": {
            "number": entry.case,
            "part": printable(str(case["part"]), 200),
            "kind": case["kind"],
            "severity": severity_of(case["kind"]),
            "confidence": case["confidence"],
            "num_gpus_hurt": case["hurts"]["num_gpus"],
            "evidence": [printable(line, 400) for line in case["evidence"]],
            "remedy": remedy_of(case["kind"]),
            "opened_at": iso_time(case["opened_s"]),
        },
    }
    return json.dumps(body, sort_keys=True).encode()


def signature(secret: str, sent_at: str, body: bytes) -> str:
    """Return ``sha256=HEX``: HMAC of the time, a full stop and the body.

    The time is in it so that a delivery that was overheard cannot be sent again much later.
    """
    signed = sent_at.encode() + b"." + body
    return f"sha256={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def next_deliveries(
    store: CaseTables, hook: str, *, limit: int = 20
) -> tuple[Sequence[AuditEntry], int]:
    """Return lines that a hook has not had, and the number of the last line that was looked at.

    A hook that is new begins with the cases that are open. Cases that maintenance explains are
    left out until it does not.
    """
    last = _begin(store, hook)
    lines = audit_lines(store, after=last, limit=10 * limit)
    if not lines:
        return (), last
    with store.reading() as file:
        query = "SELECT case_id, MIN(id) FROM audit WHERE act = 'open' GROUP BY case_id"
        opened = dict(file.execute(query).fetchall())
    wanted = [
        one
        for one in lines
        if one.act in EVENTS and one.case in opened and opened[one.case] <= one.number
    ][:limit]
    return wanted, wanted[-1].number if len(wanted) == limit else lines[-1].number


def _begin(store: CaseTables, hook: str) -> int:
    """Return the number of the last line that a hook has had, or need not have."""
    with store.reading() as file:
        known = file.execute("SELECT last_id FROM hook WHERE name = ?", (hook,)).fetchall()
        rows = (
            known
            or file.execute(
                "SELECT COALESCE((SELECT MIN(audit.id) FROM audit JOIN finding "
                "ON finding.id = audit.case_id WHERE closed_us IS NULL AND act = 'open') - 1, "
                "(SELECT MAX(id) FROM audit), 0)"
            ).fetchall()
        )
    return int(rows[0][0])


def move_hook(store: CaseTables, hook: str, line: int) -> None:
    """Remember that a hook has had all lines up to this one.

    Raises:
        OutputError: the store cannot be written.
    """
    with store.changing() as file:
        file.execute(
            "INSERT INTO hook (name, last_id) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
            "last_id = excluded.last_id WHERE hook.last_id < excluded.last_id",
            (hook, line),
        )
