"""The analytic engine: any collective on any fabric, in closed form."""

from __future__ import annotations

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.engines.analytic.tables import Algorithm

__all__ = ["Algorithm", "AnalyticEngine"]
