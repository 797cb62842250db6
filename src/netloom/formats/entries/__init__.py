"""File formats: one file each, with its ``ENTRY``."""

from __future__ import annotations
