"""Which port of a device leads to an address."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["port_towards"]


def port_towards(peer: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """Return the port in whose network *peer* is; *peer* itself where there is none.

    >>> port_towards("10.0.0.1", [("Ethernet0", "10.0.0.0/31")])
    'Ethernet0'

    Args:
        peer: An address, or anything else.
        prefixes: Ports, each with a prefix of its own; what is no prefix is passed over.
    """
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    return next((port for port, prefix in prefixes if _holds(prefix, address)), peer)


def _holds(prefix: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(prefix, strict=False)
    except ValueError:
        return False
