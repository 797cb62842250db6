"""Commands about netloom itself: its parts, its accuracy, its files."""

from __future__ import annotations
