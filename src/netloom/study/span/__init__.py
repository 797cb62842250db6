"""Training across sites: which placement, which line, how far."""

from __future__ import annotations
