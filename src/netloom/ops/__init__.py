"""The live network: what a lab consists of, and what its parts are called."""

from __future__ import annotations
