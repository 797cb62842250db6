"""A live network looked at, and what is wrong with it."""

from __future__ import annotations
