"""What FRR reads and prints."""

from __future__ import annotations
