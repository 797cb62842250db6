"""Known parts as data."""

from __future__ import annotations
