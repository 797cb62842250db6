"""From what was seen to which part is broken."""

from __future__ import annotations
