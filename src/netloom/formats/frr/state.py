"""What FRR's daemons and the kernel print of routes and BGP peers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from netloom.errors import LabError

__all__ = [
    "Peer",
    "Route",
    "parse_fib",
    "parse_peers",
    "parse_routes",
]

MAX_ROWS: Final = 1_000_000
REFUSING: Final = frozenset({"blackhole", "unreachable", "prohibit"})  # ip-route(8), types


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route to a prefix, as zebra or the kernel holds it.

    Attributes:
        prefix: Where to.
        protocol: Who put it there: ``bgp``, ``connected``, ``kernel``.
        interfaces: The ways out in use, sorted; none where packets are refused.
        is_refused: Whether packets end here: a blackhole, or declared unreachable or prohibited.
    """

    prefix: str
    protocol: str
    interfaces: tuple[str, ...]
    is_refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A BGP session.

    Attributes:
        name: Its interface or address.
        state: ``Established`` when it works.
        num_prefixes: Received from it.
    """

    name: str
    state: str
    num_prefixes: int

    @property
    def is_up(self) -> bool:
        """Whether routes flow."""
        return self.state == "Established"

    @property
    def is_shut(self) -> bool:
        """Whether this end was told to keep it closed (``neighbor ... shutdown``)."""
        return "Admin" in self.state


def parse_routes(text: str) -> tuple[Route, ...]:
    """Return what ``show ip route json`` printed: selected routes, sorted by prefix.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        return tuple(
            _zebra_route(prefix, row)
            for prefix, rows in sorted(_table(text).items())
            for row in rows
            if row.get("selected")
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LabError(_odd("show ip route json", text)) from error


def _zebra_route(prefix: str, row: dict[str, Any]) -> Route:
    ways = [way for way in row.get("nexthops", []) if way.get("fib") or way.get("active")]
    refused = [way for way in ways if REFUSING & {str(key) for key in way if way[key] is True}]
    return Route(
        prefix=str(prefix),
        protocol=str(row["protocol"]),
        interfaces=tuple(
            sorted(str(way.get("interfaceName", "")) for way in ways if way not in refused)
        ),
        is_refused=bool(refused),
    )


def parse_fib(text: str) -> tuple[Route, ...]:
    """Return what ``ip -j -4 route show`` printed, sorted by prefix, each prefix once.

    Of several routes to a prefix the kernel uses that of the least metric. A way whose interface
    has no carrier is left out; the kernel does not use it.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        rows = json.loads(text or "[]")[:MAX_ROWS]
        best: dict[str, Route] = {}
        for row in sorted(rows, key=_metric):
            route = _kernel_route(row)
            best.setdefault(route.prefix, route)
        return tuple(sorted(best.values(), key=lambda one: one.prefix))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LabError(_odd("ip -j route show", text)) from error


def _metric(row: dict[str, Any]) -> int:
    return int(row.get("metric", 0))


def _kernel_route(row: dict[str, Any]) -> Route:
    is_refused = str(row.get("type", "")) in REFUSING
    ways = [] if is_refused else row.get("nexthops") or [row]
    live = [way for way in ways if not {"linkdown", "dead"} & {str(f) for f in way["flags"]}]
    prefix = str(row["dst"])
    return Route(
        prefix=prefix if "/" in prefix or prefix == "default" else f"{prefix}/32",
        protocol=str(row.get("protocol", "")),
        interfaces=tuple(sorted(str(way.get("dev", "")) for way in live)),
        is_refused=is_refused,
    )


def parse_peers(text: str) -> tuple[Peer, ...]:
    """Return what ``show bgp ipv4 unicast summary json`` printed, sorted by name.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        found = _table(text)
        rows = found.get("peers") or found.get("ipv4Unicast", {}).get("peers", {})
        return tuple(
            Peer(name=str(name), state=str(row["state"]), num_prefixes=int(row.get("pfxRcd", 0)))
            for name, row in sorted(rows.items())
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LabError(_odd("show bgp summary json", text)) from error


def _table(text: str) -> dict[str, Any]:
    found = json.loads(text or "{}")
    if not isinstance(found, dict):
        raise TypeError
    return found


def _odd(command: str, text: str) -> str:
    return f"{command}: what it printed is not understood ({text[:80]!r})"
