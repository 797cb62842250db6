"""A network watched: collectors over the adapters of single programs, and the loop."""

from __future__ import annotations
