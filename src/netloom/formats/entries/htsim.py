"""htsim's .topo and .cm files."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.simulators.htsim_case import parse_case

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="htsim",
    title="htsim",
    family="simulators",
    holds="case",
    suffixes=(".topo", ".cm"),
    sniff=lambda head: head.lstrip().startswith("Nodes"),
    parse=parse_case,
    render=None,
)
