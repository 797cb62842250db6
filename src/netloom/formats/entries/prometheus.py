"""Prometheus' exposition format."""

from __future__ import annotations

from typing import Final

from netloom.formats.prometheus.exposition import parse_exposition
from netloom.formats.prometheus.metrics import render
from netloom.formats.register import Format

__all__ = ["ENTRY"]

ENTRY: Final = Format(
    name="prometheus",
    title="Prometheus' exposition format",
    family="prometheus",
    holds="metrics",
    suffixes=(),
    sniff=lambda head: head.startswith(("# HELP", "# TYPE")),
    parse=parse_exposition,
    render=render,
)
