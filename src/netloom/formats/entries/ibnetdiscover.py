"""What ibnetdiscover prints."""

from __future__ import annotations

from typing import Final

from netloom.formats.infiniband.cables import parse_netdiscover
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="ibnetdiscover",
    title="what ibnetdiscover prints",
    family="infiniband",
    holds="cables",
    suffixes=(),
    sniff=lambda head: "switchguid=" in head or "caguid=" in head,
    parse=parse_netdiscover,
    render=None,
)
