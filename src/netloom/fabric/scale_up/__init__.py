"""The network inside a node."""

from __future__ import annotations
