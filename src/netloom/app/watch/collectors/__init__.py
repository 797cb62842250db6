"""What a watch can look at: one file a kind, each with its ``ENTRY``."""

from __future__ import annotations
