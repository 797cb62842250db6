"""Packet loss as nftables rules, and interfaces as ip prints them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DropRule",
    "Interface",
    "parse_interfaces",
    "render_filter",
]

TABLE: Final = "netloom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What the kernel says of an interface.

    Attributes:
        name: Of it.
        is_up: Whether it has carrier and is enabled.
        received_bytes: Since it was made.
        sent_bytes: Likewise.
        dropped: Packets dropped in either direction.
    """

    name: str
    is_up: bool
    received_bytes: int = 0
    sent_bytes: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """Packets to be dropped as they come in at an interface.

    Attributes:
        interface: Where.
        share: Of the packets, 0 to 1.
        larger_than_bytes: Only of those that are larger; 0 for all.
    """

    interface: str
    share: float = 1.0
    larger_than_bytes: int = 0


def render_filter(losses: Sequence[DropRule]) -> str:
    """Return the nftables file that drops what *losses* say, in place of an earlier one."""
    head = f"table netdev {TABLE}\ndelete table netdev {TABLE}\n"
    if not losses:
        return head
    by_interface: dict[str, list[DropRule]] = {}
    for loss in losses:
        by_interface.setdefault(loss.interface, []).append(loss)
    chains = [
        f"  chain {_chain(name)} {{\n"
        f'    type filter hook ingress device "{name}" priority 0; policy accept;\n'
        + "".join(f"    {_rule(loss)}\n" for loss in some)
        + "  }\n"
        for name, some in by_interface.items()
    ]
    return f"{head}table netdev {TABLE} {{\n{''.join(chains)}}}\n"


def _chain(interface: str) -> str:
    return f"in_{interface.replace('-', '_')}"


def _rule(loss: DropRule) -> str:
    size = f"meta length > {loss.larger_than_bytes} " if loss.larger_than_bytes else ""
    per_million = round(loss.share * 1_000_000)
    some = f"numgen random mod 1000000 < {per_million} " if loss.share < 1 else ""
    return f"{size}{some}counter drop"


def parse_interfaces(text: str) -> tuple[Interface, ...]:
    """Return what ``ip -j -s link show`` printed.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        rows = json.loads(text)
        return tuple(_interface(row) for row in rows if row["ifname"] != "lo")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"ip -j -s link show: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error


def _interface(row: dict[str, object]) -> Interface:
    stats = row.get("stats64")
    both = stats if isinstance(stats, dict) else {}
    received, sent = both.get("rx", {}), both.get("tx", {})
    return Interface(
        name=str(row["ifname"]),
        is_up=row.get("operstate") == "UP",
        received_bytes=int(received.get("bytes", 0)),
        sent_bytes=int(sent.get("bytes", 0)),
        dropped=int(received.get("dropped", 0)) + int(sent.get("dropped", 0)),
    )
