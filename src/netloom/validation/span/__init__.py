"""Lines between sites and training over them, against published and derived values."""

from __future__ import annotations
