"""What is seen of a live network: observations, windows, the store, as built against as designed."""

from __future__ import annotations
