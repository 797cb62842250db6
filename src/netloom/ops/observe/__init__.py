"""What is seen of a live network: observations, their windows and store, and its cables."""

from __future__ import annotations
