"""What nccl-tests and rccl-tests print, or write with -J or -Z."""

from __future__ import annotations

from typing import Final

from netloom.formats.benchmarks.nccl_tests import parse
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="nccl-tests",
    title="what nccl-tests or rccl-tests prints",
    family="benchmarks",
    holds="measurement",
    suffixes=(),
    sniff=lambda head: "busbw" in head.lower() or "alg_bw" in head,
    parse=parse,
    render=None,
)
