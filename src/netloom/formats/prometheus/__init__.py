"""Prometheus' text format, read and written."""

from __future__ import annotations
