"""Training steps against published runs."""

from __future__ import annotations
