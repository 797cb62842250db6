"""What ibnetdiscover -p prints."""

from __future__ import annotations

import re
from typing import Final

from netloom.formats.infiniband.cables import parse_port_list
from netloom.formats.register import Format

__all__ = ["ENTRY"]

_ROW: Final = re.compile(r"^(?:SW|CA|RT)\s+\d", re.ASCII | re.MULTILINE)

ENTRY: Final = Format(
    name="ibnetdiscover-ports",
    title="what ibnetdiscover -p prints",
    family="infiniband",
    holds="cables",
    suffixes=(),
    sniff=lambda head: _ROW.search(head) is not None,
    parse=parse_port_list,
    render=None,
)
