"""The answers of a sweep, as a page."""

from __future__ import annotations
