"""One builder for each topology."""

from __future__ import annotations
