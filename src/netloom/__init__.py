"""netloom: the workbench for the networks that train large AI models."""

from __future__ import annotations

__all__: list[str] = []
