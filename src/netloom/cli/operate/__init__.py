"""Commands for a network that runs."""

from __future__ import annotations
