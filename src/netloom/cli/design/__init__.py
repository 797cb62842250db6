"""Commands that answer a question about a network that is not there yet."""

from __future__ import annotations
