"""Neighbours by LLDP, as ``lldpctl -f json0`` prints them on one device.

``json0`` always has lists; plain ``json`` has an object where there is one neighbour.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from netloom.errors import LabError

__all__ = ["LldpNeighbour", "parse_neighbours"]

MAX_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LldpNeighbour:
    """What is at the other end of an interface.

    Attributes:
        interface: Ours.
        device: The neighbour's name.
        port: The neighbour's port: its name where it gives one, else its description.
    """

    interface: str
    device: str
    port: str


def parse_neighbours(text: str) -> tuple[LldpNeighbour, ...]:
    """Return the neighbours in what ``lldpctl -f json0`` printed.

    A port whose id is a MAC address is called by its description.

    Raises:
        LabError: it is not what that command prints.
    """
    try:
        rows = json.loads(text)["lldp"][0].get("interface", [])[:MAX_ROWS]
        return tuple(_neighbour(row) for row in rows)
    except (
        *(ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError),
    ) as error:
        message = f"lldpctl -f json0: what it printed is not understood ({text[:80]!r})"
        raise LabError(message) from error


def _neighbour(row: dict[str, Any]) -> LldpNeighbour:
    port = row["port"][0]
    named = port["id"][0]
    described = (port.get("descr") or [{}])[0].get("value", "")
    return LldpNeighbour(
        interface=str(row["name"])[:64],
        device=str(row["chassis"][0]["name"][0]["value"])[:80],
        port=str(described if named.get("type") == "mac" else named["value"])[:64],
    )
