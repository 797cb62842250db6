"""The live network, in words."""

from __future__ import annotations
