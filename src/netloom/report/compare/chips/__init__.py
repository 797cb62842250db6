"""Chips ranked for a job, and the ceiling of lossless Ethernet, as text and as pages."""

from __future__ import annotations
