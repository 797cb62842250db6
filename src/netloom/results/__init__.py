"""Results as tables."""

from __future__ import annotations
