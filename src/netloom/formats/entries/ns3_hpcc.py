"""Topology, flow and configuration files of ns-3 HPCC, and its fct.txt."""

from __future__ import annotations

from typing import Final

from netloom.formats.register import Format
from netloom.formats.simulators.ns3 import write_fct
from netloom.formats.simulators.ns3_case import parse_case

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="ns3-hpcc",
    title="ns-3 HPCC",
    family="simulators",
    holds="case",
    suffixes=(),
    sniff=lambda head: head.split()[:1] != [] and head.split()[0].isdigit(),
    parse=parse_case,
    render=write_fct,
)
