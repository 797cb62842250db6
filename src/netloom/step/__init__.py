"""One optimizer step: compute and communication put together."""

from __future__ import annotations
