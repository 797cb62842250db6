"""The network as built."""

from __future__ import annotations
