"""Tuned settings as text and as a page."""

from __future__ import annotations
