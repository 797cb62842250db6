"""A calibrated network, as text and as a page."""

from __future__ import annotations
