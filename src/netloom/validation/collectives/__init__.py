"""Collectives against published bus bandwidths."""

from __future__ import annotations
