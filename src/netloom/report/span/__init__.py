"""Training across sites, as text and as a page."""

from __future__ import annotations
