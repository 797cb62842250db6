"""Doors to the real thing: thin input and output around pure functions."""

from __future__ import annotations
