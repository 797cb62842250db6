"""Arista EOS."""

from __future__ import annotations
