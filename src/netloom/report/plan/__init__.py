"""What a search found, as text and as a page."""

from __future__ import annotations
