"""Forwarding tables of a subnet manager as routes by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.formats.infiniband.diags import parse_forwarding
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["parse_routes", "read_routes"]

MAX_FILE_BYTES: Final = 1 << 28
# "0x0001 001 # Channel Adapter portguid 0x0002c90000000011: 'nic:0'" (OpenSM), and the same
# behind ": (" and before ")" (dump_lfts of infiniband-diags).
_HOST: Final = re.compile(
    r"^0x(?P<lid>[0-9a-f]{1,5})\s+\d{1,3}\s+[:#]\s*\(?Channel Adapter portguid 0x[0-9a-f]{1,16}:\s*"
    r"'(?P<name>[^']{1,80})'",
    re.ASCII | re.MULTILINE,
)


def parse_routes(text: str) -> dict[str, dict[str, int]]:
    """Return for each switch by name the port towards each channel adapter by name.

    Raises:
        LabError: *text* is no dump of forwarding tables.
    """
    host_of = {int(match["lid"], 16): match["name"].split()[0] for match in _HOST.finditer(text)}
    return {
        table.name: {
            host_of[lid]: port for lid, port in table.ports.items() if lid in host_of and port
        }
        for table in parse_forwarding(text)
    }


def read_routes(path: Path) -> dict[str, dict[str, int]]:
    """Return the routes in a file: OpenSM's opensm-lfts.dump, or what dump_lfts printed.

    Raises:
        SpecError: the file cannot be read, or names no channel adapter.
        LabError: it is no dump of forwarding tables.
    """
    text = read_text(str(path), max_bytes=MAX_FILE_BYTES, wanted="a dump of forwarding tables")
    tables = parse_routes(text)
    if not any(tables.values()):
        raise SpecError(
            file=str(path),
            what="no destination has a name",
            remedy="dump tables with names (without -n)",
        )
    return tables
