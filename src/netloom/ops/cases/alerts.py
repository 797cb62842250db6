"""Cases as alerts for Alertmanager: labels that never change, annotations that may.

The form is that of ``POST /api/v2/alerts`` and ``/api/v2/silences`` (prometheus/alertmanager,
api/v2/openapi.yaml). An alert is told from others by its labels alone, so what varies from look
to look (how sure it is, the direction of a cable) stands in the annotations.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.cases.people import NO_STATE
from netloom.ops.cases.remedies import remedy_of, severity_of
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.ops.cases.people import CaseState
    from netloom.ops.observe.cases import Case

__all__ = ["ALERT", "alert_labels", "alert_of", "iso_time", "silence_of"]

ALERT: Final = "NetloomCase"
MAX_LABEL: Final = 200
MAX_ANNOTATION: Final = 1000


def alert_labels(case: Case, fabric: str) -> dict[str, str]:
    """Return what tells the alert of a case from all others; none of it changes."""
    return {
        "alertname": ALERT,
        "fabric": printable(fabric, MAX_LABEL),
        "part": printable(str(case.part), MAX_LABEL),
        "kind": printable(case.kind, MAX_LABEL),
        "severity": severity_of(case.kind),
        "case": str(case.number),
    }


def alert_of(
    case: Case, fabric: str, *, state: CaseState = NO_STATE, ends_s: float
) -> dict[str, Any]:
    """Return a case as Alertmanager takes it.

    Args:
        case: Which.
        fabric: What the network is called.
        state: What people did about it.
        ends_s: When it is over unless it is sent again; now, for one that is.
    """
    words = {
        "summary": f"{case.label}: {case.kind}, {case.confidence:.0%} sure",
        "where": case.label,
        "confidence": f"{case.confidence:.0%}",
        "hurts": f"{case.hurts:,} GPUs",
        "evidence": "; ".join(case.evidence),
        "remedy": remedy_of(case.kind),
        "acknowledged_by": state.acknowledged_by,
        "assigned_to": state.assignee,
    }
    return {
        "labels": alert_labels(case, fabric),
        "annotations": {
            key: printable(text, MAX_ANNOTATION) for key, text in words.items() if text
        },
        "startsAt": iso_time(case.opened_s),
        "endsAt": iso_time(max(ends_s, case.opened_s + 1e-3)),
    }


def silence_of(
    labels: Mapping[str, str], *, start_s: float, end_s: float, by: str, why: str
) -> dict[str, Any]:
    """Return a silence of the alerts that have all of *labels*."""
    return {
        "matchers": [
            {"name": name, "value": value, "isRegex": False, "isEqual": True}
            for name, value in labels.items()
        ],
        "startsAt": iso_time(start_s),
        "endsAt": iso_time(end_s),
        "createdBy": by,
        "comment": printable(why, MAX_ANNOTATION),
    }


def iso_time(time_s: float) -> str:
    """Return a time as RFC 3339 has it, in UTC."""
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")
