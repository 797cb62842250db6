"""BFD sessions as FRR prints them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from netloom.errors import LabError

__all__ = [
    "Session",
    "parse_sessions",
]

MAX_ROWS: Final = 100_000
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session.

    Attributes:
        interface: Where the neighbour is.
        peer: Its address.
        status: ``up``, ``down``, ``init`` or ``shutdown``.
        diagnostic: Why it went down last; ``ok`` when it did not.
        detection_s: How long it takes to notice a silent neighbour.
        own_detection_s: How long its neighbour takes by what this end is set to.
    """

    interface: str
    peer: str
    status: str
    diagnostic: str
    detection_s: float
    own_detection_s: float = 0.0

    @property
    def is_up(self) -> bool:
        """Whether the neighbour answers in time."""
        return self.status == "up"

    @property
    def hears(self) -> bool:
        """Whether anything comes from the neighbour.

        A session is in Init when it hears a neighbour that does not hear it: RFC 5880, section 6.2.
        """
        return self.status in {"up", "init"}


def parse_sessions(text: str) -> tuple[Session, ...]:
    """Return what ``show bfd peers json`` printed, by interface.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        rows = [_session(row) for row in json.loads(text or "[]")[:MAX_ROWS]]
    except _ODD as error:
        message = f"show bfd peers json: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error
    return tuple(sorted(rows, key=lambda one: (one.interface, one.peer)))


def _session(row: dict[str, Any]) -> Session:
    # RFC 5880, section 6.8.4: the remote multiplier times the slower of what it may send and what
    # we may receive.
    interval_ms = max(
        float(row.get("receive-interval", 0)), float(row.get("remote-transmit-interval", 0))
    )
    own_ms = max(float(row.get(f"{verb}-interval", 0)) for verb in ("receive", "transmit"))
    multiplier = float(row.get("remote-detect-multiplier", row.get("detect-multiplier", 0)))
    return Session(
        interface=str(row.get("interface", ""))[:32],
        peer=str(row["peer"])[:64],
        status=str(row["status"])[:20],
        diagnostic=str(row.get("diagnostic", ""))[:80],
        detection_s=interval_ms * multiplier / 1000,
        own_detection_s=own_ms * float(row.get("detect-multiplier", 0)) / 1000,
    )
