"""A network watched: collectors, and the loop that asks them."""

from __future__ import annotations
