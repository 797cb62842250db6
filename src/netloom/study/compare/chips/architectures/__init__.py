"""Chip architectures, one entry and one file each."""

from __future__ import annotations
