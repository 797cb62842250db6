"""BGP neighbours as FRR prints them: sessions, their timers, and the policies on their routes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from netloom.errors import LabError

__all__ = ["Neighbour", "parse_neighbours"]

MAX_ROWS: Final = 100_000
MAX_NAME: Final = 64
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
# bgp_show_peer_afi of FRR 8.4, bgp_vty.c: the key of each policy, and what the configuration calls
# it.
_POLICIES: Final = {
    "incomingUpdateNetworkFilterList": ("in", "distribute-list"),
    "incomingUpdatePrefixFilterList": ("in", "prefix-list"),
    "incomingUpdateAsPathFilterList": ("in", "filter-list"),
    "routeMapForIncomingAdvertisements": ("in", "route-map"),
    "outgoingUpdateNetworkFilterList": ("out", "distribute-list"),
    "outgoingUpdatePrefixFilterList": ("out", "prefix-list"),
    "outgoingUpdateAsPathFilterList": ("out", "filter-list"),
    "routeMapForOutgoingAdvertisements": ("out", "route-map"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A neighbour with whom routes of IPv4 are exchanged.

    Attributes:
        name: Its interface or address.
        is_up: Whether routes flow.
        is_shut: Whether this end was told to keep the session closed.
        num_accepted: Prefixes taken from it.
        num_sent: Prefixes announced to it.
        asn: Autonomous system by which this end goes.
        hold_s: How long this end waits for a word of it; 0 where that is not told.
        policies: Whether each is for what comes ``in`` or goes ``out``, and its kind and name.
    """

    name: str
    is_up: bool
    is_shut: bool
    num_accepted: int
    num_sent: int
    asn: int
    hold_s: float
    policies: tuple[tuple[str, str], ...] = ()


def parse_neighbours(text: str) -> tuple[Neighbour, ...]:
    """Return what ``show bgp neighbors json`` printed, sorted by name.

    One for which IPv4 is not switched on is left out, as it is from the summary.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        found = json.loads(text or "{}")
        rows = [(str(name), row) for name, row in found.items() if isinstance(row, dict)]
        return tuple(
            _neighbour(name, row)
            for name, row in sorted(rows, key=lambda one: one[0])[:MAX_ROWS]
            if "ipv4Unicast" in row.get("addressFamilyInfo", {})
        )
    except _ODD as error:
        message = f"show bgp neighbors json: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error


def _neighbour(name: str, row: dict[str, Any]) -> Neighbour:
    family = row["addressFamilyInfo"]["ipv4Unicast"]
    return Neighbour(
        name=name[:MAX_NAME],
        is_up=row["bgpState"] == "Established",
        is_shut=bool(row.get("adminShutDown")),
        num_accepted=int(family.get("acceptedPrefixCounter", 0)),
        num_sent=int(family.get("sentPrefixCounter", 0)),
        asn=int(row["localAs"]),
        hold_s=float(row.get("bgpTimerConfiguredHoldTimeMsecs", 0)) / 1000,
        policies=tuple(
            (direction, f"{kind} {str(family[key])[:MAX_NAME]}")
            for key, (direction, kind) in _POLICIES.items()
            if family.get(key)
        ),
    )
