"""Layers and whole steps against one GPU."""

from __future__ import annotations
