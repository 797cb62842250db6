"""What carries a span, one entry a file: what it guarantees, what it strands and what it costs."""

from __future__ import annotations
