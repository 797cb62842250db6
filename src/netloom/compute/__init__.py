"""How long an operator takes on a GPU."""

from __future__ import annotations
