"""Operating systems of switches: one file each, with its ``ENTRY``."""

from __future__ import annotations
