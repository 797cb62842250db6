"""Buffers, ports, planes and sums inside a switch."""

from __future__ import annotations
