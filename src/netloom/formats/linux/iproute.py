"""What ip and tc print: interfaces with their counters, next hops, shapers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "IpLink",
    "NextHop",
    "parse_links",
    "parse_namespace_ids",
    "parse_next_hops",
    "parse_shapers",
]

MAX_ROWS: Final = 1_000_000
_Row = TypeVar("_Row")
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class IpLink:
    """An interface, its peer where it is virtual, and what it counted.

    Attributes:
        name: Of it.
        number: Of it in its namespace.
        is_up: Whether it is enabled and has carrier.
        peer: Number of the interface at the other end of a veth; None for others.
        peer_namespace: What its namespace calls that of the peer; None for the same or unknown.
        counters: By netloom's names (:mod:`netloom.ops.observe.metrics`).
    """

    name: str
    number: int
    is_up: bool
    peer: int | None
    peer_namespace: int | None
    counters: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextHop:
    """A next-hop object: one way out, or a group of others."""

    number: int
    interface: str
    members: tuple[int, ...]
    is_usable: bool


# iproute2's name of each counter, by direction.
_COUNTERS: Final = {
    "received_bytes": ("rx", "bytes"),
    "received_packets": ("rx", "packets"),
    "receive_errors": ("rx", "errors"),
    "receive_discards": ("rx", "dropped"),
    "sent_bytes": ("tx", "bytes"),
    "sent_packets": ("tx", "packets"),
    "send_errors": ("tx", "errors"),
    "send_discards": ("tx", "dropped"),
}


def parse_links(text: str) -> tuple[IpLink, ...]:
    """Return what ``ip -j -s -s link show`` printed, but for the loopback.

    Raises:
        LabError: it is not what that command prints.
    """
    rows = _read("ip -j -s -s link show", text, _link)
    return tuple(link for link in rows if link.name != "lo")


def _link(row: dict[str, Any]) -> IpLink:
    stats = row.get("stats64", {})
    flags = {str(flag) for flag in row["flags"]}
    return IpLink(
        name=str(row["ifname"])[:32],
        number=int(row["ifindex"]),
        is_up={"UP", "LOWER_UP"} <= flags,
        peer=_whole(row.get("link_index")),
        peer_namespace=_whole(row.get("link_netnsid")),
        counters={
            name: int(stats[side][key])
            for name, (side, key) in _COUNTERS.items()
            if side in stats and key in stats[side]
        }
        | _downs(stats),
    )


def _downs(stats: dict[str, Any]) -> dict[str, int]:
    """Return how often carrier was lost: every second change is to up."""
    changes = stats.get("tx", {}).get("carrier_changes")
    return {} if changes is None else {"link_downs": int(changes) // 2}


def parse_next_hops(text: str) -> tuple[NextHop, ...]:
    """Return what ``ip -j nexthop show`` printed.

    Raises:
        LabError: it is not what that command prints.
    """
    return _read("ip -j nexthop show", text, _next_hop)


def _next_hop(row: dict[str, Any]) -> NextHop:
    flags = {str(flag) for flag in row.get("flags", [])}
    return NextHop(
        number=int(row["id"]),
        interface=str(row.get("dev", ""))[:32],
        members=tuple(int(member["id"]) for member in row.get("group", [])),
        is_usable=not flags & {"dead", "linkdown"},
    )


def parse_namespace_ids(text: str) -> dict[int, str]:
    """Return what ``ip -j netns list-id`` printed: names by the numbers that links give.

    Raises:
        LabError: it is not what that command prints.
    """
    rows = _read("ip -j netns list-id", text, lambda row: (int(row["nsid"]), row.get("name")))
    return {number: str(name)[:255] for number, name in rows if name}


def parse_shapers(text: str) -> dict[str, float]:
    """Return the rate of each token bucket that ``tc -j qdisc show`` printed, by interface.

    Raises:
        LabError: it is not what that command prints.
    """
    rows = _read("tc -j qdisc show", text, _shaper)
    return {name: rate_bps for name, rate_bps in rows if rate_bps is not None}


def _shaper(row: dict[str, Any]) -> tuple[str, float | None]:
    rate = row["options"].get("rate") if row["kind"] == "tbf" else None
    return str(row["dev"])[:32], None if rate is None else 8.0 * float(rate)


def _read(command: str, text: str, parse: Callable[[dict[str, Any]], _Row]) -> tuple[_Row, ...]:
    try:
        return tuple(parse(row) for row in json.loads(text or "[]")[:MAX_ROWS])
    except _ODD as error:
        message = f"{command}: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
