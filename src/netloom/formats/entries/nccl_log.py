"""A log of NCCL."""

from __future__ import annotations

from typing import Final

from netloom.formats.nccl.log import parse_log
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="nccl-log",
    title="a log of NCCL",
    family="nccl",
    holds="job",
    suffixes=(),
    sniff=lambda head: "NCCL " in head,
    parse=parse_log,
    render=None,
)
