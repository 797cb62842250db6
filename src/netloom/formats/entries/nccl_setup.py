"""How NCCL set itself up, by its log."""

from __future__ import annotations

from typing import Final

from netloom.formats.nccl.setup import parse_setup
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="nccl-setup",
    title="a log of NCCL with NCCL_DEBUG=INFO",
    family="nccl",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "NCCL INFO" in head,
    parse=parse_setup,
    render=None,
)
