"""Alertmanager by its API, version 2: alerts and silences; nothing else is asked of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from netloom.drivers.devices.web import fetch, fetch_json
from netloom.errors import LabError
from netloom.ops.observe.devices import mapping_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["post_alerts", "post_silence"]

ALERTS: Final = "/api/v2/alerts"
SILENCES: Final = "/api/v2/silences"
MAX_BYTES: Final = 1 << 16
AT_ONCE: Final = 256
_JSON: Final = {"Content-Type": "application/json"}


def post_alerts(access: DeviceAccess, alerts: Sequence[Mapping[str, Any]]) -> None:
    """Send alerts; those that it has are the longer for it.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    for start in range(0, len(alerts), AT_ONCE):
        body = json.dumps(alerts[start : start + AT_ONCE]).encode()
        fetch(access, _path(access, ALERTS), body=body, headers=_JSON, max_bytes=MAX_BYTES)


def post_silence(access: DeviceAccess, silence: Mapping[str, Any]) -> str:
    """Write a silence and return its id.

    Raises:
        LabError: it does not answer in time, refuses, or does not say which.
    """
    path = _path(access, SILENCES)
    body = json.dumps(silence).encode()
    answer = fetch_json(access, path, body=body, headers=_JSON, max_bytes=MAX_BYTES)
    found = mapping_of(answer).get("silenceID")
    if not isinstance(found, str) or not found:
        raise LabError(
            what=f"{access.name}: it does not say which silence it made",
            remedy="is this an Alertmanager?",
        )
    return printable(found)


def _path(access: DeviceAccess, path: str) -> str:
    """Return the path below the URL's own, which a proxy may have put there."""
    return urlsplit(access.address).path.rstrip("/") + path
