"""The analytic engine: any collective on any fabric, in closed form."""

from __future__ import annotations

from netloom.engines.analytic.engine import AnalyticEngine

__all__ = ["AnalyticEngine"]
