"""Chip mechanisms against published results."""

from __future__ import annotations
