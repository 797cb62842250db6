"""Execution traces, flight recorders and step logs."""

from __future__ import annotations
