"""What iblinkinfo -l prints."""

from __future__ import annotations

from typing import Final

from netloom.formats.infiniband.cables import parse_linkinfo
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="iblinkinfo",
    title="what iblinkinfo -l prints",
    family="infiniband",
    holds="cables",
    suffixes=(),
    sniff=lambda head: "==(" in head,
    parse=parse_linkinfo,
    render=None,
)
