"""NVIDIA NVUE: changes by revisions of its REST API.

Paths and keys are those of NVIDIA's NVUE API guide; how an apply is confirmed (``state-controls``,
``confirm``, ``confirm_yes``) is as recalled from its OpenAPI model.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import LabError
from netloom.ops.observe.devices import mapping_of, printable

if TYPE_CHECKING:
    from netloom.ops.heal.devices import SettingChange

__all__ = [
    "APPLIED",
    "CONFIRM",
    "REVISIONS",
    "applying",
    "deciding",
    "has_failed",
    "is_in_use",
    "path_of",
    "revision_in",
    "setting_body",
    "state_of",
    "waiting",
]

REVISIONS: Final = "/nvue_v1/revision"
APPLIED: Final = "applied"
CONFIRM: Final = "confirm"
MAX_ID: Final = 200
_PORT: Final = re.compile(r"swp\d{1,4}(?:s\d)?", re.ASCII)


def path_of(change: SettingChange, revision: str) -> str:
    """Return the path of a setting in a revision, whose name is quoted as URLs need it.

    Raises:
        LabError: NVUE has no such setting, or no port is called so.
    """
    if change.kind != "port" or not _PORT.fullmatch(change.label):
        raise LabError(
            what=f"NVUE has no {change.kind} {printable(change.label)!r} to set",
            remedy="name its port in the inventory, such as ports: {swp2: 2}",
        )
    return f"/nvue_v1/interface/{change.label}?rev={revision}"


def setting_body(change: SettingChange) -> bytes:
    """Return what sets it."""
    return json.dumps({"link": {"state": {"up" if change.in_use else "down": {}}}}).encode()


def applying(confirm_s: int) -> bytes:
    """Return what applies a revision, to be confirmed within some seconds."""
    body = {"state": "apply", "auto-prompt": {"ays": "ays_yes"}}
    return json.dumps({**body, "state-controls": {"confirm": confirm_s}}).encode()


def deciding(*, keeps: bool) -> bytes:
    """Return what keeps a revision that waits to be confirmed, or takes it back."""
    return json.dumps({"state": "confirm_yes" if keeps else "confirm_no"}).encode()


def revision_in(answer: Any) -> str:
    """Return the name of the revision that was made.

    Raises:
        LabError: this is no answer of NVUE.
    """
    name = next(iter(mapping_of(answer)), "")
    if not name or len(name) > MAX_ID or not name.isprintable():
        raise LabError(what="not an answer of NVUE's revisions", remedy="check the address")
    return name


def state_of(answer: Any) -> str:
    """Return the state of a revision; empty where none is told."""
    state = mapping_of(answer).get("state")
    return printable(state) if isinstance(state, str) else ""


def has_failed(state: str) -> bool:
    """Return whether a revision will not be applied: refused, invalid or given up."""
    return "fail" in state or "invalid" in state or state in {"ays_no", "confirm_no"}


def waiting(answer: Any) -> tuple[str, ...]:
    """Return the revisions that wait to be confirmed."""
    rows = mapping_of(answer)
    return tuple(name for name, row in rows.items() if state_of(row) == CONFIRM)


def is_in_use(answer: Any) -> bool:
    """Return whether a port is in use, from its configuration; one that says nothing is up."""
    return "down" not in mapping_of(answer, "link", "state")
