"""What nccl-tests prints, or writes with -J."""

from __future__ import annotations

from typing import Final

from netloom.formats.nccl.tests import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="nccl-tests",
    title="what nccl-tests prints",
    family="nccl",
    holds="job",
    suffixes=(),
    sniff=lambda head: "busbw" in head,
    parse=parse,
    render=None,
)
