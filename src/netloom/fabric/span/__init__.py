"""A line between sites: its delay, its slots, what it takes to fill it, and what it guarantees."""

from __future__ import annotations
