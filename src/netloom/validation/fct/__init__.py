"""Flow completion times against published simulations."""

from __future__ import annotations
