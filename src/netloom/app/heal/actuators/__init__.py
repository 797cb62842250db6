"""What can act on a network: one file a kind, each with its ``ENTRY``."""

from __future__ import annotations
