"""SONiC's own gNMI paths: its databases as targets, tables as JSON (sonic-gnmi's documentation).

``COUNTERS/Ethernet*`` of ``COUNTERS_DB`` is an object by port, ``COUNTERS/Ethernet*/Queues`` one
by queue (``Ethernet0:3``); tables of the other databases are objects by key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.formats.sonic.databases import SonicTables
from netloom.ops.observe.devices import mapping_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPTIONAL", "TABLES", "tables_of"]

# What is asked for: field of SonicTables, target, path.
TABLES: Final = {
    "configured": ("CONFIG_DB", "PORT"),
    "applied": ("APPL_DB", "PORT_TABLE"),
    "counters": ("COUNTERS_DB", "COUNTERS/Ethernet*"),
    "queues": ("COUNTERS_DB", "COUNTERS/Ethernet*/Queues"),
    "state": ("STATE_DB", "PORT_TABLE"),
    "optics": ("STATE_DB", "TRANSCEIVER_DOM_SENSOR"),
    "neighbours": ("APPL_DB", "LLDP_ENTRY_TABLE"),
    "sessions": ("STATE_DB", "NEIGH_STATE_TABLE"),
    "interfaces": ("CONFIG_DB", "INTERFACE"),
}
# A switch without modules, neighbours or sessions has no such tables.
OPTIONAL: Final = frozenset({"queues", "state", "optics", "neighbours", "sessions", "interfaces"})
MAX_ROWS: Final = 20_000


def tables_of(answers: Mapping[str, Any]) -> SonicTables:
    """Return tables of the JSON that each path was answered with; what is no table is left out."""
    rows: dict[str, Any] = {
        name: _rows(answer) for name, answer in answers.items() if name in TABLES
    }
    addresses = [key.split("|", 1) for key in rows.pop("interfaces", {})]
    return SonicTables(**rows, addresses=tuple((a[0], a[1]) for a in addresses if len(a) == 2))


def _rows(answer: Any) -> dict[str, dict[str, str]]:
    table = mapping_of(answer)
    return {
        key[:80]: {name: str(value) for name, value in row.items()}
        for key, row in list(table.items())[:MAX_ROWS]
        if isinstance(row, dict)
    }
