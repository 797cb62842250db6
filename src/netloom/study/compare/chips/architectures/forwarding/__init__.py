"""How packets choose their links."""

from __future__ import annotations
