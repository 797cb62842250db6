"""What a link does: retry, credits, cut-through, signals."""

from __future__ import annotations
